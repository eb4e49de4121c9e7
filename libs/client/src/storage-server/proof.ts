import { createHmac } from 'node:crypto';

/** The storage server and the kubelet compute these alike; another version of the text is another protocol. */
const KEY_TEXT = 'holdfast volume key 1';
const PROOF_TEXT = 'holdfast volume proof 1';

const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('hex');

/** The key of one volume, for its Secret. The server computes it from its master key. */
export const volumeKey = (masterKey: string, volume: string): string => hmac(masterKey, `${KEY_TEXT}\n${volume}`);

/** Shows that a holder of the volume's key has issued this token. Its reader can open nothing else with it. */
export const volumeProof = (key: string, volume: string, token: number): string =>
  hmac(key, `${PROOF_TEXT}\n${volume}\n${token}`);
