/** Channels of a command over WebSocket: the first byte of a message is the number of its channel. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, end: 3, resize: 4 } as const;

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export interface Utf8 {
  encode(text: string): Uint8Array<ArrayBuffer>;
  /** A stream of bytes of each channel: a character may be split between messages. */
  decoder(): (bytes: Uint8Array) => string;
}

export type Heard =
  | { readonly kind: 'output'; readonly text: string }
  | { readonly kind: 'end'; readonly sentence: string };

export class Channels {
  readonly #utf8: Utf8;
  readonly #decoders = new Map<number, (bytes: Uint8Array) => string>();

  constructor(utf8: Utf8) {
    this.#utf8 = utf8;
  }

  input = (text: string): Uint8Array<ArrayBuffer> => this.#message(CHANNEL.stdin, text);

  resize = ({ columns, rows }: Size): Uint8Array<ArrayBuffer> =>
    this.#message(CHANNEL.resize, JSON.stringify({ Width: columns, Height: rows }));

  hear(message: Uint8Array): Heard | undefined {
    const [channel = -1] = message;
    const text = this.#decode(channel, message.subarray(1));
    if (channel === CHANNEL.stdout || channel === CHANNEL.stderr) return { kind: 'output', text };
    return channel === CHANNEL.end && text !== '' ? { kind: 'end', sentence: endOf(text) } : undefined;
  }

  #message(channel: number, text: string): Uint8Array<ArrayBuffer> {
    const bytes = this.#utf8.encode(text);
    const message = new Uint8Array(bytes.length + 1);
    message[0] = channel;
    message.set(bytes, 1);
    return message;
  }

  #decode(channel: number, bytes: Uint8Array): string {
    const decode = this.#decoders.get(channel) ?? this.#utf8.decoder();
    this.#decoders.set(channel, decode);
    return decode(bytes);
  }
}

interface EndStatus {
  readonly status?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/** The last message of a command is a Status. */
function endOf(text: string): string {
  try {
    const { status, message = '', details } = JSON.parse(text) as EndStatus;
    if (status === 'Success') return 'The command ended with exit code 0.';
    const code = details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
    return code === undefined ? message : `The command ended with exit code ${code}.`;
  } catch {
    return text;
  }
}
