'use strict';
// The search, the theme and the buttons that copy. Everything else works without this script.
(() => {
  const root = document.documentElement, top = root.dataset.top;
  const kept = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  if (kept()) root.dataset.theme = kept();

  const words = text => text.toLowerCase().normalize('NFKD').split(/[^\p{L}\p{N}_./-]+/u).map(w => w.replace(/^[./-]+|[./-]+$/g, '')).filter(Boolean);

  // score says how well a section answers the words; 0: one of them is missing.
  function score(section, wanted) {
    let sum = 0;
    for (const w of wanted) {
      let best = 0;
      if (section.title.includes(w)) best += 6;
      if (section.heading.includes(w)) best += section.heading === w ? 40 : 20;
      if (!section.h && section.title.includes(w)) best += 16;
      const at = section.text.indexOf(w);
      if (at >= 0) best += 2 + 2 * Math.min(6, section.text.split(w).length - 1) + (/[\p{L}\p{N}]/u.test(section.text[at - 1] ?? ' ') ? 0 : 3);
      if (!best) return 0;
      sum += best;
    }
    return section.s ? sum / 2 : sum;
  }

  // marked puts a text into an element, with the words marked.
  function marked(into, text, wanted) {
    const lower = text.toLowerCase();
    for (let at = 0; at < text.length;) {
      let next = text.length, length = 0;
      for (const w of wanted) {
        const i = lower.indexOf(w, at);
        if (i >= 0 && i < next) { next = i; length = w.length; }
      }
      into.append(text.slice(at, next));
      if (!length) return;
      const mark = document.createElement('mark');
      mark.textContent = text.slice(next, next + length);
      into.append(mark);
      at = next + length;
    }
  }

  function snippet(section, wanted) {
    const at = Math.min(...wanted.map(w => section.text.indexOf(w)).filter(i => i >= 0), section.x.length);
    const from = at === section.x.length ? 0 : Math.max(0, section.x.lastIndexOf(' ', Math.max(0, at - 60)) + 1);
    return (from ? '… ' : '') + section.x.slice(from, from + 220);
  }

  function search() {
    const input = document.getElementById('q'), found = document.getElementById('found');
    let index, at = -1;
    const load = async () => {
      if (index) return index;
      const all = await (await fetch(top + 'assets/search.json')).json();
      index = all.map(s => ({...s, title: s.t.toLowerCase(), heading: s.h.toLowerCase(), text: s.x.toLowerCase()}));
      return index;
    };
    const close = () => { found.hidden = true; input.setAttribute('aria-expanded', 'false'); input.removeAttribute('aria-activedescendant'); at = -1; };
    const show = async () => {
      const wanted = words(input.value);
      if (!wanted.length) return close();
      const all = await load();
      if (words(input.value).join() !== wanted.join()) return; // typed on meanwhile
      const hits = all.map(s => [score(s, wanted), s]).filter(h => h[0]).sort((a, b) => b[0] - a[0]).slice(0, 12);
      found.replaceChildren(...hits.map(([, s], i) => {
        const a = document.createElement('a'), b = document.createElement('b'), small = document.createElement('small');
        a.href = top + s.p;
        a.id = 'hit' + i;
        a.setAttribute('role', 'option');
        a.setAttribute('aria-selected', 'false');
        marked(b, s.h || s.t, wanted);
        if (s.h) {
          const where = document.createElement('span');
          where.textContent = ' · ' + s.t.split(': ')[0];
          b.append(where);
        }
        marked(small, snippet(s, wanted), wanted);
        a.append(b, small);
        return a;
      }));
      if (!hits.length) {
        const p = document.createElement('p');
        p.textContent = 'No results for “' + input.value + '”.';
        found.append(p);
      }
      found.hidden = false;
      at = -1;
      input.setAttribute('aria-expanded', 'true');
    };
    const move = by => {
      const all = found.querySelectorAll('a');
      if (!all.length) return;
      all[at]?.setAttribute('aria-selected', 'false');
      at = (at + by + all.length) % all.length;
      all[at].setAttribute('aria-selected', 'true');
      all[at].scrollIntoView({block: 'nearest'});
      input.setAttribute('aria-activedescendant', all[at].id);
    };
    input.disabled = false;
    input.addEventListener('focus', load, {once: true});
    input.addEventListener('input', show);
    input.addEventListener('keydown', e => {
      if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); move(e.key === 'ArrowDown' ? 1 : at < 0 ? 0 : -1); }
      if (e.key === 'Enter') found.querySelectorAll('a')[Math.max(at, 0)]?.click();
      if (e.key === 'Escape') { close(); input.blur(); }
    });
    document.addEventListener('keydown', e => {
      if (e.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); input.focus(); input.select(); }
    });
    document.addEventListener('click', e => { if (!e.target.closest('.find') || e.target.closest('#found a')) close(); });
  }

  function themes() {
    const button = document.querySelector('.theme');
    button.hidden = false;
    button.addEventListener('click', () => {
      const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
      root.dataset.theme = dark ? 'light' : 'dark';
      try { localStorage.setItem('theme', root.dataset.theme); } catch { /* not kept */ }
    });
  }

  // copying takes what is typed, without what is printed.
  function copying() {
    if (!navigator.clipboard) return;
    for (const pre of document.querySelectorAll('pre')) {
      const text = pre.textContent, button = document.createElement('button');
      button.type = 'button';
      button.className = 'copy';
      button.textContent = 'Copy';
      button.addEventListener('click', async () => {
        const typed = [...pre.querySelectorAll('b')].map(b => b.textContent.replace(/^\$ /, '')).join('\n');
        await navigator.clipboard.writeText(pre.dataset.language === 'console' && !text.includes('<<') ? typed : text);
        button.textContent = 'Copied';
      });
      pre.append(button);
    }
  }

  addEventListener('DOMContentLoaded', () => { search(); themes(); copying(); document.querySelector('nav [aria-current]')?.scrollIntoView({block: 'nearest'}); });
})();
