import { dnsLabelErrors } from './formats.ts';

/** A name that becomes that of pods, and so of hosts, and is none for a host. */
export function podNameWarnings(name: string | undefined): readonly string[] {
  const problems = dnsLabelErrors(name ?? '');
  return problems.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
      ];
}
