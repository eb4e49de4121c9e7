import { dnsLabelErrors } from './formats.ts';

/** Warns of a name that becomes part of pod names and hostnames but is not a valid hostname. */
export function podNameWarnings(name: string | undefined): readonly string[] {
  const problems = dnsLabelErrors(name ?? '');
  return problems.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
      ];
}
