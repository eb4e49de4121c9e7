import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { placed, readPlaced, readUdpPacket, udpPacket } from './udp-packets.ts';

const place = fc.record({ host: fc.ipV4(), port: fc.integer({ min: 0, max: 65_535 }) }, { noNullPrototype: true });

test('a packet has the places and bytes that it was made of', () => {
  fc.assert(
    fc.property(place, place, fc.uint8Array({ maxLength: 2_000 }), (from, to, bytes) => {
      const packet = udpPacket({ from, to, bytes });
      // The link may have added bytes.
      const read = readUdpPacket(Buffer.concat([packet, Buffer.alloc(3)]));
      assert.deepEqual(read && { ...read, bytes: [...read.bytes] }, { from, to, bytes: [...bytes] });
      const again = readPlaced(placed(to, bytes));
      assert.deepEqual(again && { ...again, bytes: [...again.bytes] }, { place: to, bytes: [...bytes] });
    }),
  );
});

test('what is no whole datagram is not read', () => {
  const packet = udpPacket({
    from: { host: '10.244.0.2', port: 1 },
    to: { host: '192.0.2.1', port: 2 },
    bytes: Buffer.from('hello'),
  });
  const with_ = (offset: number, value: number): Buffer => Buffer.from(packet).fill(value, offset, offset + 1);
  assert.ok(readUdpPacket(packet));
  for (const wrong of [
    packet.subarray(0, -1),
    with_(0, 0x65),
    with_(0, 0x44),
    with_(0, 0x4f),
    with_(9, 6),
    with_(25, 7),
  ])
    assert.equal(readUdpPacket(wrong), undefined);
  for (const bytes of [Buffer.alloc(0), packet.subarray(0, 27)]) assert.equal(readUdpPacket(bytes), undefined);
  assert.equal(readPlaced(Buffer.alloc(5)), undefined);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void readUdpPacket(Buffer.from(bytes))));
});
