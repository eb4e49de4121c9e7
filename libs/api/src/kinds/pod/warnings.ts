import type { Pod } from '../../generated/types.ts';
import type { ValidationContext } from '../../resource.ts';
import { dnsLabelErrors } from '../../validation/formats.ts';
import { podSpecWarnings } from '../../validation/pod/warnings.ts';

/** Only a create returns warnings: updates of pods are frequent and rarely come from people. */
export function podWarnings(
  pod: Readonly<Pod>,
  old: Readonly<Pod> | undefined,
  { isSpecQuiet = false }: Pick<ValidationContext, 'isSpecQuiet'> = {},
): readonly string[] {
  if (old !== undefined) return [];
  const warnings: string[] = [];
  const problems = dnsLabelErrors(pod.metadata.name ?? '');
  if (problems.length > 0) {
    const text =
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
    warnings.push(`${text}: [${problems.join(' ')}]`);
  }
  if (!isSpecQuiet || pod.metadata.annotations !== undefined) podSpecWarnings(warnings, '', pod);
  return warnings;
}
