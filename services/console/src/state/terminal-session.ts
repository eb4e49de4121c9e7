import { HELD_KEYS_CHARS_MAX } from '../limits.ts';
import { Channels, type Size, type Utf8 } from './channels.ts';
import type { Wire } from './machine.ts';
import { Screen } from './screen.ts';
import type { TerminalEvents } from './terminal.ts';

/** One command with its screen, from the moment in which a person starts it. */
export class TerminalSession implements TerminalEvents {
  readonly screen: Screen;
  /** A sentence for the person. */
  state = 'Connecting.';
  readonly #channels: Channels;
  readonly #changed: () => void;
  #size: Size;
  #wire: Wire | undefined;
  /** Typed before there is a connection. */
  #held = '';
  #end = '';
  #isOver = false;

  constructor(utf8: Utf8, size: Size, changed: () => void) {
    this.#channels = new Channels(utf8);
    this.#size = size;
    this.#changed = changed;
    this.screen = new Screen(size.columns, size.rows, (text) => this.type(text));
  }

  /** True from the start to the end of the command: keys that come before the connection wait for it. */
  get takesKeys(): boolean {
    return !this.#isOver;
  }

  opened(wire: Wire): void {
    if (this.#isOver) return wire.close();
    this.#wire = wire;
    wire.send(this.#channels.resize(this.#size));
    if (this.#held !== '') wire.send(this.#channels.input(this.#held));
    this.#held = '';
    this.state = 'Connected.';
    this.#changed();
  }

  message(bytes: Uint8Array): void {
    const heard = this.#channels.hear(bytes);
    if (heard?.kind === 'end') this.#end = heard.sentence;
    else if (heard !== undefined) this.screen.write(heard.text);
    this.#changed();
  }

  closed(): void {
    this.failed(this.#end === '' ? 'The connection ended.' : this.#end);
  }

  failed(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.state = why;
    this.#changed();
  }

  type(text: string): void {
    if (this.#isOver) return;
    if (this.#wire !== undefined) this.#wire.send(this.#channels.input(text));
    else if (this.#held.length + text.length <= HELD_KEYS_CHARS_MAX) this.#held += text;
  }

  resize(size: Size): void {
    this.#size = size;
    this.screen.resize(size.columns, size.rows);
    this.#wire?.send(this.#channels.resize(size));
  }

  /** The person starts another command, or leaves. */
  close(): void {
    this.#isOver = true;
    this.#wire?.close();
  }
}
