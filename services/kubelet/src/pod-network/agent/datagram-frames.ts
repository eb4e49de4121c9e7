const HEAD_BYTES = 6;

/** A datagram on a stream: its length, the number of the peer it belongs to, its bytes. */
export function framedDatagram(peer: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  frame.writeUInt16BE(bytes.length, 0);
  frame.writeUInt32BE(peer, 2);
  frame.set(bytes, HEAD_BYTES);
  return frame;
}

export class DatagramReader {
  #rest: Buffer = Buffer.alloc(0);

  /** The datagrams that are complete now. */
  push(chunk: Buffer): readonly { readonly peer: number; readonly bytes: Buffer }[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const found: { peer: number; bytes: Buffer }[] = [];
    while (this.#rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + this.#rest.readUInt16BE(0);
      if (this.#rest.length < end) break;
      found.push({ peer: this.#rest.readUInt32BE(2), bytes: this.#rest.subarray(HEAD_BYTES, end) });
      this.#rest = this.#rest.subarray(end);
    }
    return found;
  }
}
