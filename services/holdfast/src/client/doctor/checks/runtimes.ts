import { CONTAINER_ENDPOINTS, type ContainerKind, probeContainerRuntime } from '@holdfast/kubelet/container-runtimes';
import type { Check } from '../check.ts';
import { type Judgement, ok, warning } from '../finding.ts';

export const RUNTIMES: Check = {
  name: 'runtimes',
  look: async ({ terminal }) => {
    const kinds = ['cri', 'docker'] as const satisfies readonly ContainerKind[];
    const answers = await Promise.all(
      kinds.map((kind) =>
        probeContainerRuntime(kind, CONTAINER_ENDPOINTS[kind], terminal.clock).then(
          (version) => ({ kind, version }),
          () => undefined,
        ),
      ),
    );
    return judgeRuntimes(answers.filter((each) => each !== undefined));
  },
};

export function judgeRuntimes(found: readonly { readonly kind: string; readonly version: string }[]): Judgement {
  if (found.length > 0)
    return ok(found.map(({ kind, version }) => `${version} answers (--runtime=${kind})`).join('; '));
  return warning(
    'no container runtime answers: pods run as processes of this machine, without their images',
    'Start Docker or containerd for pods with images; nothing is to be done for pods that only name a command.',
  );
}
