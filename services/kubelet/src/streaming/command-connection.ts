import type { Readable, Writable } from 'node:stream';
import type { TerminalSize } from '../runtime/port.ts';

/** A client's request from its query. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The end of a command or attachment on the error channel. */
export type StreamEnd =
  | { readonly kind: 'success' }
  | { readonly kind: 'exitCode'; readonly exitCode: number }
  | { readonly kind: 'error'; readonly message: string };

/** A client's streams, whatever carries them. */
export interface CommandConnection {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  onResize(listener: (size: TerminalSize) => void): void;
  /** Tells how it ended and closes the connection. */
  finish(end: StreamEnd): void;
  /** Settles when the client is gone. */
  readonly closed: Promise<void>;
}

/** The text of the error channel. Clients before version 4 know only texts of errors. */
export function endText(end: StreamEnd, asStatus: boolean): string {
  if (!asStatus) return end.kind === 'success' ? '' : messageOf(end);
  return JSON.stringify(statusOf(end));
}

function statusOf(end: StreamEnd): object {
  switch (end.kind) {
    case 'success':
      return { metadata: {}, status: 'Success' };
    case 'exitCode':
      return {
        metadata: {},
        status: 'Failure',
        message: messageOf(end),
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(end.exitCode) }] },
      };
    case 'error':
      return {
        metadata: {},
        status: 'Failure',
        message: `Internal error occurred: ${end.message}`,
        reason: 'InternalError',
        details: { causes: [{ message: end.message }] },
        code: 500,
      };
  }
}

const messageOf = (end: Exclude<StreamEnd, { kind: 'success' }>): string =>
  end.kind === 'exitCode' ? `command terminated with non-zero exit code: exit status ${end.exitCode}` : end.message;

/** The sizes at the beginning of a text, and what is no whole size yet: clients send one JSON object after the other, in pieces of any length. */
export function readTerminalSizes(text: string): { readonly sizes: readonly TerminalSize[]; readonly rest: string } {
  const pieces = text.split('}');
  const rest = pieces.pop() ?? '';
  return { sizes: pieces.flatMap((piece) => readTerminalSize(`${piece}}`) ?? []), rest };
}

/** Names in any case, as Kubernetes reads them: JavaScript clients say `width`, others `Width`. */
function readTerminalSize(text: string): TerminalSize | undefined {
  try {
    const said: unknown = JSON.parse(text);
    if (typeof said !== 'object' || said === null) return undefined;
    const size = new Map(Object.entries(said).map(([name, value]) => [name.toLowerCase(), value]));
    const width: unknown = size.get('width');
    const height: unknown = size.get('height');
    return isSide(width) && isSide(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

const isSide = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 0x1_0000;
