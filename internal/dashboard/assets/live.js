// Keeps a page up to date: swaps parts that the server pushes, by id. Everything works without it.

const badge = document.getElementById('live')
const root = document.documentElement.dataset.root
const wanted = new URLSearchParams(location.search).get('live') !== '0'

/** @type {EventSource | null} */
let events = null
/** @type {Map<string, string>} parts that came while their place was in use */
const held = new Map()
let tries = 0
let timer = 0

/** @param {string} text @param {boolean} on */
function say(text, on) {
  if (!badge) return
  badge.textContent = text
  badge.classList.toggle('off', !on)
}

/** Whether a person is using an element: it must not change under their hands. @param {Element} el */
function inUse(el) {
  const selection = getSelection()
  return el.contains(document.activeElement) && document.activeElement !== document.body ||
    el.querySelector('details[open]') !== null ||
    selection !== null && !selection.isCollapsed && el.contains(selection.anchorNode)
}

/** @param {string} id @param {string} html */
function swap(id, html) {
  const old = document.getElementById(id)
  if (!old || old.outerHTML === html.trim()) return
  if (inUse(old)) {
    held.set(id, html)
    return
  }
  held.delete(id)
  const holder = document.createElement('template')
  holder.innerHTML = html
  const next = holder.content.firstElementChild
  if (!next) return
  for (const figure of next.querySelectorAll('[data-changed]')) {
    const before = old.querySelector(`[data-changed="${CSS.escape(figure.getAttribute('data-changed') ?? '')}"]`)
    if (before && before.textContent !== figure.textContent) figure.classList.add('changed')
  }
  old.replaceWith(next)
}

function swapHeld() {
  for (const [id, html] of [...held]) swap(id, html)
}

function open() {
  clearTimeout(timer)
  if (events || document.hidden || !wanted) return
  events = new EventSource(`${root}/live?of=${encodeURIComponent(location.pathname + location.search)}`)
  events.addEventListener('parts', event => {
    tries = 0
    say('Live', true)
    const news = JSON.parse(event.data)
    document.title = `${news.title} · weir`
    for (const part of news.parts) swap(part.id, part.html)
    document.body.classList.remove('stale')
  })
  events.addEventListener('beat', () => { tries = 0; say('Live', true) })
  events.onerror = () => {
    close()
    tries++
    again(Math.min(2 ** tries, 30))
  }
}

/** Counts down to the next try. @param {number} seconds */
function again(seconds) {
  if (document.hidden) return
  if (seconds <= 0) {
    open()
    return
  }
  say(`Trying again in ${seconds} s`, false)
  if (tries > 2) document.body.classList.add('stale')
  timer = setTimeout(() => again(seconds - 1), 1000)
}

function close() {
  events?.close()
  events = null
}

if (badge && root !== undefined) {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      open()
      return
    }
    clearTimeout(timer)
    close()
    say('Updates paused', false)
  })
  document.addEventListener('focusout', () => setTimeout(swapHeld))
  document.addEventListener('toggle', swapHeld, true)
  if (wanted) {
    open()
  } else {
    say('Updates paused', false)
  }
}
