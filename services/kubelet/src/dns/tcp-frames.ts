/** DNS over TCP: each message behind its length (RFC 1035, 4.2.2). */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The messages that are complete now. */
  push(chunk: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const messages: Buffer[] = [];
    while (this.#rest.length >= 2) {
      const end = 2 + this.#rest.readUInt16BE(0);
      if (this.#rest.length < end) break;
      messages.push(this.#rest.subarray(2, end));
      this.#rest = this.#rest.subarray(end);
    }
    return messages;
  }
}
