/** UDP in IPv4 packets, as raw sockets send and receive them. Pure. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

export interface UdpPacket {
  readonly from: Place;
  readonly to: Place;
  readonly bytes: Uint8Array;
}

const UDP = 17;
const IP_HEAD_BYTES = 20;
const UDP_HEAD_BYTES = 8;
const VERSION_AND_LENGTH = 0x45;
const TIME_TO_LIVE = 64;
const PLACE_BYTES = 6;

const hostAt = (packet: Buffer, offset: number): string => packet.subarray(offset, offset + 4).join('.');

function writeHost(packet: Buffer, host: string, offset: number): void {
  for (const [index, part] of host.split('.').entries()) packet.writeUInt8(Number(part), offset + index);
}

/** `undefined`: that is no whole datagram. */
export function readUdpPacket(packet: Buffer): UdpPacket | undefined {
  const head = ((packet[0] ?? 0) & 0xf) * 4;
  const isUdp = (packet[0] ?? 0) >> 4 === 4 && packet[9] === UDP;
  if (!isUdp || head < IP_HEAD_BYTES || packet.length < head + UDP_HEAD_BYTES) return undefined;
  const end = head + packet.readUInt16BE(head + 4);
  if (end < head + UDP_HEAD_BYTES || end > packet.length) return undefined;
  return {
    from: { host: hostAt(packet, 12), port: packet.readUInt16BE(head) },
    to: { host: hostAt(packet, 16), port: packet.readUInt16BE(head + 2) },
    bytes: packet.subarray(head + UDP_HEAD_BYTES, end),
  };
}

/** The kernel fills in the length and the checksum of the packet. The one of UDP may be absent. */
export function udpPacket({ from, to, bytes }: UdpPacket): Buffer {
  const packet = Buffer.alloc(IP_HEAD_BYTES + UDP_HEAD_BYTES + bytes.length);
  packet.writeUInt8(VERSION_AND_LENGTH, 0);
  packet.writeUInt16BE(packet.length, 2);
  packet.writeUInt8(TIME_TO_LIVE, 8);
  packet.writeUInt8(UDP, 9);
  writeHost(packet, from.host, 12);
  writeHost(packet, to.host, 16);
  packet.writeUInt16BE(from.port, IP_HEAD_BYTES);
  packet.writeUInt16BE(to.port, IP_HEAD_BYTES + 2);
  packet.writeUInt16BE(UDP_HEAD_BYTES + bytes.length, IP_HEAD_BYTES + 4);
  packet.set(bytes, IP_HEAD_BYTES + UDP_HEAD_BYTES);
  return packet;
}

/** A datagram with the place that it goes to or comes from, between the agent and the control plane. */
export function placed({ host, port }: Place, bytes: Uint8Array): Buffer {
  const text = Buffer.alloc(PLACE_BYTES + bytes.length);
  writeHost(text, host, 0);
  text.writeUInt16BE(port, 4);
  text.set(bytes, PLACE_BYTES);
  return text;
}

/** `undefined`: that is too short for a place. */
export function readPlaced(text: Buffer): { readonly place: Place; readonly bytes: Buffer } | undefined {
  if (text.length < PLACE_BYTES) return undefined;
  return { place: { host: hostAt(text, 0), port: text.readUInt16BE(4) }, bytes: text.subarray(PLACE_BYTES) };
}
