import type { Container, Pod } from '@holdfast/api';
import { MESSAGE_LOG_LINES, MESSAGE_LOG_MAX_BYTES, MESSAGE_MAX_BYTES, POD_MESSAGES_MAX_BYTES } from '../limits.ts';

export const DEFAULT_MESSAGE_PATH = '/dev/termination-log';

export const messagePath = ({ terminationMessagePath: path = DEFAULT_MESSAGE_PATH }: Container): string =>
  path === '' ? DEFAULT_MESSAGE_PATH : path;

/** The container's last words: what it wrote for this purpose, or, where it asks for that and failed, the end of its log. */
export function terminationMessage(
  { terminationMessagePolicy }: Container,
  ended: { readonly exitCode: number; readonly file: Uint8Array; readonly logTail: Uint8Array },
): string {
  const own = textOf(ended.file.subarray(0, MESSAGE_MAX_BYTES));
  if (own !== '') return own;
  if (terminationMessagePolicy !== 'FallbackToLogsOnError' || ended.exitCode === 0) return '';
  const tail = ended.logTail.subarray(Math.max(0, ended.logTail.length - MESSAGE_LOG_MAX_BYTES));
  return lastLines(textOf(tail), MESSAGE_LOG_LINES);
}

/** All containers of a pod share one budget, so that a status stays small. */
export function messageShareBytes({ spec }: Pod): number {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const count = containers.length + initContainers.length + ephemeralContainers.length;
  return Math.min(MESSAGE_MAX_BYTES, Math.floor(POD_MESSAGES_MAX_BYTES / Math.max(1, count)));
}

/** Cut at a number of bytes, never in the middle of a character. */
export function cutMessage(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  return bytes.length <= maxBytes ? text : textOf(bytes.subarray(0, maxBytes));
}

/** A character that was cut in two at either end is left out. */
function textOf(bytes: Uint8Array): string {
  let start = 0;
  while (start < bytes.length && start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  let end = bytes.length;
  for (let back = 1; back <= Math.min(4, end - start); back++) {
    const byte = bytes[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    if (length > back) end -= back;
    break;
  }
  return Buffer.from(bytes.subarray(start, end)).toString('utf8');
}

function lastLines(text: string, lines: number): string {
  const isClosed = text.endsWith('\n');
  const all = (isClosed ? text.slice(0, -1) : text).split('\n');
  return all.slice(-lines).join('\n') + (isClosed ? '\n' : '');
}
