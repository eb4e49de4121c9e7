import { X509Certificate } from 'node:crypto';
import { describeError } from './errors.ts';
import { nodeTls } from './http.ts';
import { pairFlaw } from './pem.ts';

/** PEM texts of a server's certificate and its key. */
export interface TlsPair {
  readonly certificate: string;
  readonly key: string;
}

/** `text` is absent when the file cannot be read. */
export interface SeenFile {
  readonly name: string;
  readonly text: string | undefined;
}

export interface SeenPair {
  readonly certificate: SeenFile;
  readonly key: SeenFile;
}

/** Files that cannot be served, and whether the operator was told. */
export interface Suspicion {
  readonly flaw: string;
  readonly isTold: boolean;
}

export interface PairState {
  readonly served: TlsPair;
  readonly suspicion: Suspicion | undefined;
}

export type PairDecision =
  | { readonly do: 'keep' | 'warn'; readonly suspicion: Suspicion | undefined }
  | { readonly do: 'take'; readonly pair: TlsPair; readonly endsMs: number; readonly hasExpired: boolean };

/**
 * Decides about what a look at the files found. A pair that cannot be served never replaces the served one. The first look
 * that finds a flaw is silent: a renewal writes one file after the other. An expired pair is taken, as in Kubernetes: it is
 * what the operator wrote.
 */
export function decidePair({ served, suspicion }: PairState, seen: SeenPair, nowMs: number): PairDecision {
  const { certificate, key } = seen;
  if (certificate.text === served.certificate && key.text === served.key) return { do: 'keep', suspicion: undefined };
  const judged = judge(seen);
  if ('pair' in judged) {
    const endsMs = endOf(judged.pair.certificate);
    return { do: 'take', pair: judged.pair, endsMs, hasExpired: endsMs <= nowMs };
  }
  const { flaw } = judged;
  if (suspicion?.flaw !== flaw) return { do: 'keep', suspicion: { flaw, isTold: false } };
  return { do: suspicion.isTold ? 'keep' : 'warn', suspicion: { flaw, isTold: true } };
}

function judge({ certificate, key }: SeenPair): { readonly pair: TlsPair } | { readonly flaw: string } {
  const [certificateText, keyText] = [certificate.text, key.text];
  if (certificateText === undefined) return { flaw: `${certificate.name} cannot be read` };
  if (keyText === undefined) return { flaw: `${key.name} cannot be read` };
  const pair = { certificate: certificateText, key: keyText };
  const flaw = pairFlaw({ ...certificate, text: certificateText }, { ...key, text: keyText });
  const unusable = flaw ?? contextFlaw(certificate.name, pair);
  return unusable === undefined ? { pair } : { flaw: unusable };
}

/** What the TLS library refuses beyond that: a spoiled further certificate of a chain, a key that is too weak. */
function contextFlaw(name: string, { certificate, key }: TlsPair): string | undefined {
  try {
    nodeTls().createSecureContext({ cert: certificate, key });
    return undefined;
  } catch (error) {
    return `${name} cannot be served: ${describeError(error)}`;
  }
}

const endOf = (certificate: string): number => new X509Certificate(certificate).validToDate.getTime();
