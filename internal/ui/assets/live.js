// One stream of events for all tabs of a browser that show this server: the tab that holds the lock reads it and
// passes events on. A tab that is hidden takes no part. Where there are no locks, as on pages of another machine
// without TLS, each tab has a stream of its own.

const BEAT = 5000; // how often tabs say what they want
const FORGET = 15000; // after so long a silence, of a tab or of the server, it is taken for gone

// follow calls hear(name, event) for what this tab wants, { fleet: true }, { id } or nothing, and for alerts.
export function follow(want, hear) {
  const tab = crypto.getRandomValues(new Uint32Array(1))[0];
  const shared = Boolean(navigator.locks && globalThis.BroadcastChannel);
  const channel = shared ? new BroadcastChannel('weir-live') : null;
  const others = new Map(); // by tab: what it wants, and when it said so
  let source = null, opened = '', heard = 0, release = null, waiting = null;

  const mine = (name, e) => name === 'alerts' || (name === 'fleet' ? want.fleet : e.id === want.id);
  const deliver = (name, e) => { if (mine(name, e)) hear(name, e); };

  function address() {
    const wants = [want, ...[...others.values()].map(o => o.want)], p = new URLSearchParams();
    if (wants.some(w => w.fleet)) p.append('view', 'fleet');
    const ids = [...new Set(wants.map(w => w.id).filter(Boolean))].slice(0, 16);
    if (ids.length) p.append('view', 'query');
    ids.forEach(id => p.append('id', id));
    p.append('view', 'alerts');
    return '/api/v1/stream?' + p;
  }

  // open reads anew, so that every tab gets the whole of what it wants.
  function open() {
    close();
    heard = Date.now();
    opened = address();
    source = new EventSource(opened);
    for (const name of ['fleet', 'query', 'alerts']) {
      source.addEventListener(name, message => {
        heard = Date.now();
        const e = JSON.parse(message.data);
        channel?.postMessage({ kind: 'event', name, e });
        deliver(name, e);
      });
    }
  }
  function close() {
    source?.close();
    source = null;
  }

  const say = kind => channel?.postMessage({ kind, tab, want });
  if (channel) {
    channel.onmessage = ({ data: m }) => {
      if (document.hidden) return;
      if (m.kind === 'event') deliver(m.name, m.e);
      else if (m.kind === 'bye') others.delete(m.tab);
      else {
        const fresh = !others.has(m.tab) || m.kind === 'hello';
        others.set(m.tab, { want: m.want, at: Date.now() });
        if (fresh && source) open();
      }
    };
  }

  // lead waits until this tab is the one that reads, and reads until it is hidden.
  function lead() {
    if (!shared) { open(); return; }
    waiting = new AbortController();
    navigator.locks.request('weir-live', { signal: waiting.signal }, () => {
      open();
      return new Promise(done => { release = done; });
    }).catch(() => {}); // hidden before its turn came
  }
  function show() {
    say('hello');
    lead();
  }
  function hide() {
    say('bye');
    others.clear();
    close();
    waiting?.abort();
    release?.();
    release = null;
  }

  document.addEventListener('visibilitychange', () => document.hidden ? hide() : show());
  addEventListener('pagehide', hide);
  addEventListener('pageshow', e => { if (e.persisted) show(); });
  setInterval(() => {
    if (document.hidden) return;
    say('want');
    for (const [id, o] of others) if (Date.now() - o.at > FORGET) others.delete(id);
    const broken = () => source.readyState === EventSource.CLOSED || Date.now() - heard > FORGET;
    if (source && (broken() || address() !== opened)) open();
  }, BEAT);
  if (!document.hidden) show();
}
