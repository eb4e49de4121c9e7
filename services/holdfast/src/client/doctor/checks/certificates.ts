import { X509Certificate } from 'node:crypto';
import path from 'node:path';
import { formatTime } from '@holdfast/platform';
import type { Check } from '../check.ts';
import { type Judgement, ok, problem, warning } from '../finding.ts';
import { readText } from '../probes.ts';

export const CERTIFICATES: Check = {
  name: 'certificates',
  look: ({ dataDir, terminal }) => {
    const texts = [CA, 'server.crt'].map((name) => ({ name, text: readText(path.join(dataDir, 'pki', name)) }));
    return Promise.resolve(judgeCertificates(texts, terminal.clock.now()));
  },
};

interface CertificateFile {
  readonly name: string;
  readonly text: string | undefined;
}

const SOON_MS = 14 * 24 * 60 * 60 * 1000;
const ANEW =
  'Restore it from a backup, or remove the directory pki in the data directory and start again: all clients then need the new kubeconfig, and pods new tokens.';
const CA = 'ca.crt';

/** The start renews certificates by itself. */
const renewed = (name: string): string =>
  name === CA
    ? 'Start the cluster again: it makes a new authority, and all clients need the new kubeconfig.'
    : 'Start the cluster again: it renews the certificate.';

export function judgeCertificates(files: readonly CertificateFile[], nowMs: number): Judgement {
  const present = files.flatMap(({ name, text }) => (text === undefined ? [] : [{ name, text }]));
  if (present.length === 0) return ok('the first start makes them');
  const spans: { readonly name: string; readonly from: number; readonly to: number }[] = [];
  for (const { name, text } of present) {
    const span = validityOf(text);
    if (span === undefined) return problem(`${name} is not a certificate`, name === CA ? ANEW : renewed(name));
    spans.push({ name, ...span });
  }
  const early = spans.find(({ from }) => from > nowMs);
  if (early !== undefined)
    return problem(
      `${early.name} counts from ${formatTime(early.from)}, and the clock of this machine says ${formatTime(nowMs)}`,
      'Set the clock of this machine.',
    );
  const first = spans.toSorted((a, b) => a.to - b.to)[0] ?? { name: '', to: Number.POSITIVE_INFINITY };
  if (first.to <= nowMs) return problem(`${first.name} has expired at ${formatTime(first.to)}`, renewed(first.name));
  if (first.to - nowMs < SOON_MS)
    return warning(`${first.name} expires at ${formatTime(first.to)}`, renewed(first.name));
  return ok(`valid until ${formatTime(first.to)}`);
}

function validityOf(text: string): { readonly from: number; readonly to: number } | undefined {
  try {
    const { validFromDate, validToDate } = new X509Certificate(text);
    return { from: validFromDate.getTime(), to: validToDate.getTime() };
  } catch {
    return undefined;
  }
}
