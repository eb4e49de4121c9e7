import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HELD_KEYS_CHARS_MAX } from '../limits.ts';
import { TerminalSession } from './terminal-session.ts';

const utf8 = {
  encode: (text: string) => new TextEncoder().encode(text),
  decoder: () => {
    const decoder = new TextDecoder();
    return (bytes: Uint8Array) => decoder.decode(bytes, { stream: true });
  },
};

function begin() {
  let changes = 0;
  const session = new TerminalSession(utf8, { columns: 80, rows: 24 }, () => void changes++);
  const sent: string[] = [];
  let isClosed = false;
  const wire = {
    send: (bytes: Uint8Array) => void sent.push(`${bytes[0]}:${Buffer.from(bytes.subarray(1)).toString()}`),
    close: () => void (isClosed = true),
  };
  return { session, wire, sent, changes: () => changes, isClosed: () => isClosed };
}

const SIZE = '4:{"Width":80,"Height":24}';

test('terminal: what is typed while it connects comes first, in order, after the size', () => {
  const { session, wire, sent } = begin();
  for (const key of 'ech') session.type(key);
  session.opened(wire);
  session.type('o');
  assert.deepEqual(sent, [SIZE, '0:ech', '0:o']);
  assert.equal(session.state, 'Connected.');
});

test('terminal: the size of the moment is the one that the command gets', () => {
  const { session, wire, sent } = begin();
  session.resize({ columns: 100, rows: 30 });
  session.opened(wire);
  assert.deepEqual(sent, ['4:{"Width":100,"Height":30}']);
});

test('terminal: no more than a bounded text waits for a connection', () => {
  const { session, wire, sent } = begin();
  session.type('x'.repeat(HELD_KEYS_CHARS_MAX));
  session.type('y');
  session.opened(wire);
  assert.deepEqual(sent, [SIZE, `0:${'x'.repeat(HELD_KEYS_CHARS_MAX)}`]);
});

test('terminal: after the end it takes no keys, and the first reason stays', () => {
  const { session, wire, sent, changes } = begin();
  session.opened(wire);
  session.message(new Uint8Array([3, ...utf8.encode('{"status":"Success"}')]));
  session.closed();
  const before = changes();
  session.closed();
  session.type('x');
  assert.deepEqual(sent, [SIZE]);
  assert.equal(session.takesKeys, false);
  assert.equal(session.state, 'The command ended with exit code 0.');
  assert.equal(changes(), before);
});

test('terminal: one that was left says nothing any more, and closes a connection that comes late', () => {
  const { session, wire, sent, changes, isClosed } = begin();
  session.close();
  session.opened(wire);
  session.closed();
  assert.equal(isClosed(), true);
  assert.deepEqual(sent, []);
  assert.equal(changes(), 0);
});
