// Keeps a page up to date, and adds keys to it. Everything works without this script.

const doc = document.documentElement
const root = doc.dataset.root ?? ''
const badge = document.getElementById('live')
const wanted = new URLSearchParams(location.search).get('live') !== '0'

// ---- the time zone of the viewer, for the server

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
if (zone && doc.dataset.zone !== zone && !document.cookie.includes(`weir_zone=${encodeURIComponent(zone)}`)) {
  document.cookie = `weir_zone=${encodeURIComponent(zone)}; path=${root}; max-age=31536000; samesite=lax`
  if (document.cookie.includes('weir_zone=') && doc.dataset.method === 'GET') location.reload()
}

// ---- parts that the server pushes, swapped by id

/** @type {EventSource | null} */
let events = null
/** @type {Map<string, string>} parts that came while their place was in use */
const held = new Map()
let tries = 0
let timer = 0
let silent = 0
let cutOff = 0

/** @param {string} text @param {boolean} on */
function say(text, on) {
  if (!badge || badge.textContent === text) return
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

/** Rows keep their place while a page is open; new ones are announced above them. @param {Element} old @param {Element} next */
function keepRows(old, next) {
  const before = old.querySelector('tbody[data-keep]')
  const after = next.querySelector('tbody[data-keep]')
  if (!before || !after) return
  const rows = new Map([...after.children].map(row => [row.id, row]))
  const kept = [...before.children].map(row => rows.get(row.id) ?? row.cloneNode(true))
  const known = new Set([...before.children].map(row => row.id))
  const fresh = [...rows.keys()].filter(id => !known.has(id)).length
  after.replaceChildren(...kept)
  const news = next.querySelector('[data-news]')
  if (news && fresh > 0) {
    const link = document.createElement('a')
    link.href = location.href
    link.textContent = `${fresh} new`
    news.replaceChildren(link)
  }
}

/** Brings the chosen tab into sight, where a narrow screen cuts the row. @param {ParentNode} within */
function reveal(within) {
  for (const tab of within.querySelectorAll('nav [aria-current]')) {
    const row = tab.closest('nav.nav, nav.tabs, ol.steps')
    if (!row) continue
    const [at, all] = [tab.getBoundingClientRect(), row.getBoundingClientRect()]
    row.scrollLeft += at.left + at.width / 2 - all.left - all.width / 2
  }
}
reveal(document)
addEventListener('resize', () => reveal(document))

/** Gives forms the keys by which the server knows a form that is sent twice: those of the same forms before, or new ones.
 * @param {Element} old @param {Element} next */
function keyForms(old, next) {
  /** @param {Element} within */
  const keys = within => /** @type {HTMLInputElement[]} */ ([...within.querySelectorAll('form input[name="once"]')])
  /** @param {HTMLInputElement} key */
  const of = key => [key.form?.getAttribute('action'), ...[...key.form?.querySelectorAll('input[type="hidden"]') ?? []]
    .map(hidden => hidden === key ? '' : `${hidden.getAttribute('name')}=${hidden.getAttribute('value')}`)].join('\n')
  const before = new Map(keys(old).map(key => [of(key), key.value]))
  for (const key of keys(next)) {
    const fresh = Array.from(crypto.getRandomValues(new Uint32Array(4)), n => n.toString(36)).join('')
    key.setAttribute('value', before.get(of(key)) ?? fresh)
  }
}

/** @param {string} id @param {string} html */
function swap(id, html) {
  const old = document.getElementById(id)
  if (!old) return
  if (inUse(old)) {
    held.set(id, html)
    return
  }
  held.delete(id)
  const holder = document.createElement('template')
  holder.innerHTML = html
  const next = holder.content.firstElementChild
  if (next) keyForms(old, next)
  if (!next || old.outerHTML === next.outerHTML) return
  for (const figure of next.querySelectorAll('[data-changed]')) {
    const before = old.querySelector(`[data-changed="${CSS.escape(figure.getAttribute('data-changed') ?? '')}"]`)
    if (before && before.textContent !== figure.textContent) figure.classList.add('changed')
  }
  keepRows(old, next)
  old.replaceWith(next)
  reveal(next)
}

function swapHeld() {
  for (const [id, html] of [...held]) swap(id, html)
}

function alive() {
  tries = 0
  cutOff = 0
  clearTimeout(silent)
  silent = setTimeout(failed, 30_000) // a beat is due every 10 s: a connection can end without a word
  say('Live', true)
  document.body.classList.remove('stale')
  if (!wish) tell()
}

function open() {
  clearTimeout(timer)
  if (events || document.hidden || !wanted) return
  events = new EventSource(`${root}/live?of=${here()}`)
  events.addEventListener('parts', event => {
    alive()
    const news = JSON.parse(event.data)
    document.title = `${news.title} · weir`
    for (const part of news.parts) swap(part.id, part.html)
  })
  events.addEventListener('beat', alive)
  events.addEventListener('busy', event => { // as many pages are live as may be
    close()
    say('Updates paused', false)
    timer = setTimeout(open, JSON.parse(event.data).seconds * 1000)
  })
  events.addEventListener('failed', failed)
  events.onerror = failed
}

/** A stream has ended. It does not say why: the server is asked, and the page tries again or says that this is the end. */
async function failed() {
  close()
  tries++
  cutOff ||= Date.now()
  say('Trying again', false)
  const {status, text} = await ask(here())
  if (events || document.hidden) return
  if (!ends(status, text)) again(Math.min(2 ** (tries - 1), 15), text)
}

/** Counts down to the next try. @param {number} seconds @param {string} text */
function again(seconds, text) {
  if (document.hidden) return
  if (Date.now() - cutOff > 5000) {
    document.body.classList.add('stale')
    if (!wish) tell(text ? 'The server cannot update this page.' : 'No connection to the server.', `${text} The figures are from before. This page goes on by itself.`)
  }
  if (seconds <= 0) {
    open()
    return
  }
  say(`Trying again in ${seconds} s`, false)
  timer = setTimeout(() => again(seconds - 1, text), 1000)
}

function close() {
  clearTimeout(silent)
  events?.close()
  events = null
}

// ---- what the page says of the server

const strip = document.querySelector('.strip.offline')

/** Says something above the page, with a link to its address; without a title, takes it back.
 * @param {string} [title] @param {string} [text] @param {string} [link] @param {boolean} [beside] whether what was typed has to stay */
function tell(title = '', text = '', link = '', beside = false) {
  const [head, more, act] = strip?.querySelectorAll('b, span span, a') ?? []
  strip?.classList.toggle('on', title !== '')
  if (!head || head.textContent === title && more.textContent === text) return
  head.textContent = title
  more.textContent = text
  act.textContent = link
  if (!(act instanceof HTMLAnchorElement)) return
  act.hidden = link === ''
  act.target = beside ? '_blank' : ''
}

const here = () => encodeURIComponent(location.pathname + location.search)

/** Asks the server whether a page can be shown; without one, whether it answers and knows the person. The status is 0 if it
 * does not answer. @param {string} [of] @returns {Promise<{status: number, text: string}>} */
async function ask(of = '') {
  try {
    const answer = await fetch(`${root}/check?of=${of}`, {cache: 'no-store', redirect: 'manual', signal: AbortSignal.timeout(10_000)})
    const plain = answer.headers.get('Content-Type')?.startsWith('text/plain') // others are of a proxy
    return {status: answer.type === 'opaqueredirect' ? 401 : answer.status, text: plain ? (await answer.text()).trim() : ''}
  } catch {
    return {status: 0, text: ''}
  }
}

/** Says that the page cannot go on, if so. @param {number} status @param {string} text @param {boolean} [beside] */
function ends(status, text, beside = false) {
  if (status < 400 || status === 408 || status === 429 || status >= 500) return false
  const out = status === 401
  tell(out ? 'You are signed out.' : 'This page cannot be shown any more.', beside ? `${text} What you typed is still here: send it again afterwards.` : text, out ? 'Sign in' : 'Load it again', beside)
  say(out ? 'Signed out' : 'Updates ended', false)
  document.body.classList.add('stale')
  return true
}

// ---- a form or a link while the server is away must not lose the page

/** @typedef {{leave: () => void, form: boolean, pressed?: boolean}} Wish pressed: something else was asked for meanwhile */
/** @type {Wish | null} what the person has asked for, until the server answers */
let wish = null

/** Whether this is the page on which people sign in: the forms of this page need no session. */
const signsIn = document.querySelector('form[action$="/sign-in"]') !== null

// A sign-out ends the live pages of other tabs, too, whichever node they are at: each asks why it cannot go on.
const tabs = new BroadcastChannel('weir-signed-out')
if (signsIn) tabs.postMessage('')
tabs.onmessage = () => {
  if (events) void failed()
}

/** Does something that leaves the page as soon as the server answers, within two minutes. @param {() => void} leave @param {boolean} form */
async function whenBack(leave, form) {
  /** @type {Wish} */
  const mine = wish = {leave, form}
  for (const end = Date.now() + 120_000; wish === mine; await new Promise(done => setTimeout(done, 2000))) {
    const {status, text} = await ask()
    if (wish !== mine) return
    const over = Date.now() > end
    if (form && !(signsIn && status === 401) && ends(status, text, true) || over) {
      wish = null
      if (over) tell(form ? 'Nothing was sent.' : 'The page was not opened.', `The server did not answer. ${form ? 'What you typed is still here: try' : 'Try'} again later.`)
    } else if (status !== 0 && status < 500) {
      wish = null
      tell()
      leave()
    } else if (mine.pressed) {
      tellWaiting()
    } else {
      tell('The server does not answer.', form ? 'What you typed is still here. It is sent as soon as the server answers.' : 'The page opens as soon as it answers.')
    }
  }
}

const tellWaiting = () => tell('Your form has not been sent yet.', 'It is sent as soon as the server answers.')

/** Whether a form waits: nothing replaces it. Says so, if so. */
function formWaits() {
  if (!wish?.form) return false
  wish.pressed = true
  tellWaiting()
  return true
}

/** Whether the server is known to answer. A page without a stream does not know. */
const answers = () => events !== null && !cutOff

let passes = false

document.addEventListener('submit', event => {
  const form = event.target
  if (passes || event.defaultPrevented || !(form instanceof HTMLFormElement)) return
  if (!wish?.form && answers()) return
  event.preventDefault()
  if (formWaits()) return
  const by = event.submitter
  whenBack(() => {
    passes = true
    form.requestSubmit(by?.isConnected ? by : null)
    passes = false
  }, true)
})

/** Goes to an address. @param {string} to */
function go(to) {
  if (formWaits()) return
  if (answers()) location.assign(to)
  else whenBack(() => location.assign(to), false)
}

document.addEventListener('click', event => {
  const link = event.target instanceof Element ? event.target.closest('a[href]') : null
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
  if (link.target || link.hasAttribute('download') || link.hash && link.href.split('#')[0] === location.href.split('#')[0] || strip?.contains(link)) return
  if (!wish?.form && (answers() || link.origin !== location.origin)) return
  event.preventDefault()
  go(link.href)
})

addEventListener('pageshow', () => { wish = null })

// ---- the page is live while a person looks at it

if (badge && doc.dataset.live !== undefined) {
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      open()
      return
    }
    clearTimeout(timer)
    close()
    say('Updates paused', false)
  })
  addEventListener('pagehide', close)
  document.addEventListener('focusout', () => setTimeout(swapHeld))
  document.addEventListener('toggle', swapHeld, true)
  document.addEventListener('selectionchange', swapHeld)
  if (wanted) {
    open()
  } else {
    say('Updates paused', false)
  }
}

// ---- values of a chart under the pointer, from its table

document.addEventListener('pointermove', event => {
  const chart = event.target instanceof Element ? event.target.closest('.chart') : null
  const caption = chart?.closest('figure')?.querySelector('figcaption')
  const body = chart?.nextElementSibling?.querySelector('tbody')
  for (const other of document.querySelectorAll('figcaption[data-says]')) {
    if (other !== caption) restore(other)
  }
  const plot = chart?.querySelector('svg')?.getBoundingClientRect()
  if (!chart || !caption || !body || !plot || event.clientX > plot.right) {
    if (caption) restore(caption)
    return
  }
  const at = (event.clientX - plot.left) / plot.width
  let best = null
  let far = Infinity
  for (const row of body.rows) {
    const away = Math.abs(Number(row.dataset.x) / 100 - at)
    if (away < far) [best, far] = [row, away]
  }
  if (!best) return
  const heads = [...(best.closest('table')?.tHead?.rows[0].cells ?? [])].map(cell => cell.textContent ?? '')
  if (!caption.hasAttribute('data-says')) caption.setAttribute('data-says', caption.innerHTML)
  caption.textContent = [...best.cells].map((cell, i) => i === 0 ? cell.textContent : `${heads[i]} ${cell.textContent}`).join(' · ')
})

/** @param {Element} caption */
function restore(caption) {
  const says = caption.getAttribute('data-says')
  if (says === null) return
  caption.innerHTML = says
  caption.removeAttribute('data-says')
}

// ---- menus close on Escape and on a click elsewhere

document.addEventListener('click', event => {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!(event.target instanceof Node && menu.contains(event.target))) menu.removeAttribute('open')
  }
})

// ---- keys

const places = { o: '/', a: '/bulk-actions', i: '/items', d: '/failed', s: '/schedules', r: '/resources', p: '/lanes' }
let going = 0

/** @param {number} by */
function moveRow(by) {
  const links = [...document.querySelectorAll('main tbody th[scope="row"] a, .todo a.name')]
  if (links.length === 0) return
  const at = links.indexOf(/** @type {Element} */ (document.activeElement))
  const next = links[Math.min(Math.max(at + by, 0), links.length - 1)]
  if (next instanceof HTMLElement) next.focus()
}

// A value that is typed for one of several choices chooses it.
document.addEventListener('input', event => {
  const choice = event.target instanceof HTMLElement && event.target.closest('.inset')?.previousElementSibling?.querySelector('input[type="radio"]')
  if (choice instanceof HTMLInputElement) choice.checked = true
})

document.addEventListener('keydown', event => {
  const target = event.target
  if (event.key === 'Escape') {
    const menu = document.querySelector('details.menu[open]')
    if (menu) {
      menu.removeAttribute('open')
      menu.querySelector('summary')?.focus()
    } else if (target instanceof HTMLElement) target.blur()
    return
  }
  if (event.ctrlKey || event.metaKey || event.altKey || doc.dataset.keys === 'off') return
  if (target instanceof HTMLElement && target.closest('input, select, textarea, [contenteditable]')) return
  if (Date.now() - going < 1500) {
    going = 0
    const place = places[/** @type {keyof places} */ (event.key)]
    if (place) {
      event.preventDefault()
      go(root + place)
    }
    return
  }
  switch (event.key) {
    case '/':
      document.getElementById('find')?.focus()
      break
    case '?':
      go(`${root}/help`)
      break
    case 'g':
      going = Date.now()
      break
    case 'n':
      go(`${root}/new`)
      break
    case 'j':
      moveRow(1)
      break
    case 'k':
      moveRow(-1)
      break
    case 'p': {
      const button = document.querySelector('[data-key="p"]')
      if (button instanceof HTMLElement) button.focus()
      break
    }
    default:
      return
  }
  event.preventDefault()
})

// On a narrow screen the navigation, tabs and steps scroll sideways: show where we are.
for (const bar of document.querySelectorAll('.nav, .tabs, .steps')) {
  const here = bar.querySelector('[aria-current]')
  if (here) bar.scrollLeft += here.getBoundingClientRect().left - bar.getBoundingClientRect().left - 16
}
