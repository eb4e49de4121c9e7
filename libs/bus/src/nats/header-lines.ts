import { MsgHdrsImpl } from 'nats';

/** All names and values are our own: plain ASCII without line breaks. */
export const headerLine = (name: string, value: string | number): string => `${name}: ${value}\r\n`;

/**
 * Message headers that are already text. The library's own header object costs more than the publish: it stores,
 * validates and looks up names and values. A text of this size also comes from a shared buffer, while the library
 * allocates memory for each one.
 */
export class HeaderLines extends MsgHdrsImpl {
  readonly #lines: string;

  constructor(lines: string) {
    super();
    this.#lines = lines;
  }

  override encode(): Uint8Array {
    return Buffer.from(`NATS/1.0\r\n${this.#lines}\r\n`, 'latin1');
  }
}
