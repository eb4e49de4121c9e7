import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Channels } from './channels.ts';
import { textOfKey } from './keys.ts';

const utf8 = {
  encode: (text: string) => new TextEncoder().encode(text),
  decoder: () => {
    const decoder = new TextDecoder();
    return (bytes: Uint8Array) => decoder.decode(bytes, { stream: true });
  },
};
const heard = (channels: Channels, channel: number, bytes: Uint8Array) =>
  channels.hear(new Uint8Array([channel, ...bytes]));

test('messages have the number of their channel in front', () => {
  const channels = new Channels(utf8);
  assert.deepEqual([...channels.input('ü')], [0, 0xc3, 0xbc]);
  assert.equal(Buffer.from(channels.resize({ columns: 80, rows: 24 })).toString(), '\x04{"Width":80,"Height":24}');
});

test('a character that is split between messages is one', () => {
  const channels = new Channels(utf8);
  const [first = 0, second = 0] = utf8.encode('ü');
  assert.deepEqual(heard(channels, 1, new Uint8Array([first])), { kind: 'output', text: '' });
  assert.deepEqual(heard(channels, 1, new Uint8Array([second])), { kind: 'output', text: 'ü' });
});

test('the end of a command is told with its exit code, or why it did not run', () => {
  for (const [status, sentence] of [
    [{ status: 'Success' }, 'The command ended with exit code 0.'],
    [
      { status: 'Failure', details: { causes: [{ reason: 'ExitCode', message: '7' }] } },
      'The command ended with exit code 7.',
    ],
    [{ status: 'Failure', message: 'no such file' }, 'no such file'],
  ] as const) {
    const end = heard(new Channels(utf8), 3, utf8.encode(JSON.stringify(status)));
    assert.deepEqual(end, { kind: 'end', sentence });
  }
});

test('keys are what terminals send; the keys of the browser stay its own', () => {
  const key = (name: string, held: object = {}) =>
    textOfKey({ key: name, ctrlKey: false, altKey: false, metaKey: false, ...held });
  assert.deepEqual(
    [key('a'), key('ü'), key('Enter'), key('Backspace'), key('ArrowUp'), key('F5'), key('Shift')],
    ['a', 'ü', '\r', '\x7f', '\x1b[A', '', ''],
  );
  assert.deepEqual(
    [key('c', { ctrlKey: true }), key('b', { altKey: true }), key('c', { metaKey: true }), key('1', { ctrlKey: true })],
    ['\x03', '\x1bb', '', ''],
  );
});
