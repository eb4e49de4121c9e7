import { MsgHdrsImpl } from 'nats';

/** All names and values are ours: plain ASCII, without line breaks. */
export const headerLine = (name: string, value: string | number): string => `${name}: ${value}\r\n`;

/**
 * Headers of a message that are text already. What the library does to keep, to check and to find names and values would cost more
 * than the publish; and a text of this size is a piece of a shared buffer, where the library takes memory of its own for each.
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
