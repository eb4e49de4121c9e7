import { duplicate, type FieldError, invalid } from '@holdfast/machinery';
import type { ContainerResizePolicy } from '../../generated/types.ts';
import { validateRequiredWord } from '../check.ts';

export function validateResizePolicy(
  out: FieldError[],
  path: string,
  policies: readonly ContainerResizePolicy[],
  podRestartPolicy: string,
): void {
  const resources = new Set<string>();
  for (const [i, { resourceName, restartPolicy }] of policies.entries()) {
    if (resources.has(resourceName)) out.push(duplicate(`${path}[${i}]`, resourceName));
    resources.add(resourceName);
    validateRequiredWord(out, path, resourceName, ['cpu', 'memory']);
    validateRequiredWord(out, path, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      out.push(invalid(path, restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'"));
    }
  }
}
