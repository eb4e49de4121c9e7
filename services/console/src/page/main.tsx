import { render } from 'preact';
import type { Machine, Wires } from '../state/machine.ts';
import { App } from './app.tsx';
import { Shell } from './shell.tsx';

const wire: Wires = (path, protocols, events) => {
  const socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')), [...protocols]);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => events.opened();
  socket.onclose = () => events.closed();
  socket.onmessage = ({ data }) => {
    if (data instanceof ArrayBuffer) events.message(new Uint8Array(data));
  };
  return {
    send: (bytes) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(bytes);
    },
    close: () => socket.close(),
  };
};

const PREFIX = 'holdfast.';

const machine: Machine = {
  fetch: (url, init) => fetch(url, { ...init, credentials: 'same-origin', redirect: 'error' }),
  now: () => Date.now(),
  iso: (ms) => new Date(ms).toISOString(),
  frame: (run) => void requestAnimationFrame(run),
  newId: () => crypto.randomUUID(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  every: (ms, run) => {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
  wire,
  utf8: {
    encode: (text) => new TextEncoder().encode(text),
    decoder: () => {
      const decoder = new TextDecoder();
      return (bytes) => decoder.decode(bytes, { stream: true });
    },
  },
  store: {
    read: (key) => localStorage.getItem(PREFIX + key) ?? '',
    write: (key, value) =>
      value === '' ? localStorage.removeItem(PREFIX + key) : localStorage.setItem(PREFIX + key, value),
  },
  place: {
    hash: () => location.hash,
    go: (hash) => {
      location.hash = hash;
    },
    replace: (hash) => {
      history.replaceState(undefined, '', hash);
      dispatchEvent(new HashChangeEvent('hashchange'));
    },
    changed: (run) => addEventListener('hashchange', run),
  },
};

const shell = new Shell(machine);
const place = document.getElementById('app');
if (place !== null) render(<App shell={shell} />, place);
void shell.begin();
