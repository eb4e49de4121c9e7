/** Values of the hash: whole numbers that a `number` holds exactly. */
const LOW_BITS = 2 ** 27;

/** Hashes the names of a flow to 53 bits. Two lanes, because bit operations take 32. */
export function hashOfFlow(schema: string, distinguisher: string): number {
  let low = 0x811c9dc5;
  let high = 0x1b873593;
  const mix = (code: number): void => {
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code ^ (low >>> 15), 0x85ebca6b);
  };
  for (let i = 0; i < schema.length; i++) mix(schema.charCodeAt(i));
  mix(0);
  for (let i = 0; i < distinguisher.length; i++) mix(distinguisher.charCodeAt(i));
  const spread = Math.imul(high ^ (high >>> 13), 0xc2b2ae35) ^ (low >>> 16);
  return ((spread ^ (spread >>> 16)) >>> 6) * LOW_BITS + ((low ^ (low >>> 11)) >>> 5);
}

/**
 * Deals a hand of different queues out of all. Two flows seldom hold the same hand, so a flow that fills the queues of its hand leaves others
 * at least one that is short.
 */
export function dealHand(hash: number, queues: number, handSize: number): readonly number[] {
  const hand: number[] = [];
  let left = hash;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const cards = queues - dealt;
    let card = left % cards;
    left = Math.floor(left / cards);
    // The number counts the cards that are left: those before it that were dealt are skipped.
    for (const other of hand.toSorted((a, b) => a - b)) if (other <= card) card += 1;
    hand.push(card);
  }
  return hand;
}
