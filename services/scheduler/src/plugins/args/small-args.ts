import { invalid } from '@holdfast/machinery';
import { scalar } from '@holdfast/machinery/schema-build';
import type { CandidateLimits } from '../../domain/preemption.ts';
import type { RawArgs } from '../../framework/definition.ts';
import { PREEMPTION_CANDIDATES_MIN, PREEMPTION_CANDIDATES_PERCENT, VOLUME_BIND_TIMEOUT_SECONDS } from '../../limits.ts';
import { checkArgs, outside, report, struct } from './decode-args.ts';

/** Arguments with one or two numbers. */
export interface InterPodAffinityArgs {
  /** The weight with which a placed pod's required affinity attracts matching pods. */
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

const AFFINITY = struct('InterPodAffinityArgs', {
  hardPodAffinityWeight: scalar('int32'),
  ignorePreferredTermsOfExistingPods: scalar('boolean'),
});

export function decodeInterPodAffinityArgs(raw: RawArgs | undefined): InterPodAffinityArgs {
  const args = checkArgs(raw, AFFINITY) as Partial<InterPodAffinityArgs>;
  const { hardPodAffinityWeight = 1, ignorePreferredTermsOfExistingPods = false } = args;
  if (outside(hardPodAffinityWeight, [0, 100])) {
    report(raw, [invalid('hardPodAffinityWeight', hardPodAffinityWeight, 'not in valid range [0, 100]')]);
  }
  return { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods };
}

const PREEMPTION = struct('DefaultPreemptionArgs', {
  minCandidateNodesPercentage: scalar('int32'),
  minCandidateNodesAbsolute: scalar('int32'),
});

interface WirePreemptionArgs {
  readonly minCandidateNodesPercentage?: number;
  readonly minCandidateNodesAbsolute?: number;
}

export function decodeDefaultPreemptionArgs(raw: RawArgs | undefined): CandidateLimits {
  const args = checkArgs(raw, PREEMPTION) as WirePreemptionArgs;
  const percentage = args.minCandidateNodesPercentage ?? PREEMPTION_CANDIDATES_PERCENT;
  const absolute = args.minCandidateNodesAbsolute ?? PREEMPTION_CANDIDATES_MIN;
  report(raw, [
    ...(outside(percentage, [0, 100])
      ? [invalid('minCandidateNodesPercentage', percentage, 'not in valid range [0, 100]')]
      : []),
    ...(absolute < 0 ? [invalid('minCandidateNodesAbsolute', absolute, 'not in valid range [0, inf)')] : []),
    ...(percentage === 0 && absolute === 0
      ? [
          invalid(
            'minCandidateNodesPercentage',
            percentage,
            'cannot be zero at the same time as minCandidateNodesAbsolute',
          ),
        ]
      : []),
  ]);
  return { percentage, absolute };
}

const VOLUME_BINDING = struct('VolumeBindingArgs', { bindTimeoutSeconds: scalar('int64') });

export function decodeVolumeBindingArgs(raw: RawArgs | undefined): { readonly bindTimeoutMs: number } {
  const args = checkArgs(raw, VOLUME_BINDING) as { readonly bindTimeoutSeconds?: number };
  const { bindTimeoutSeconds = VOLUME_BIND_TIMEOUT_SECONDS } = args;
  if (bindTimeoutSeconds < 0) {
    report(raw, [
      invalid('bindTimeoutSeconds', bindTimeoutSeconds, 'invalid BindTimeoutSeconds, should not be a negative value'),
    ]);
  }
  return { bindTimeoutMs: bindTimeoutSeconds * 1_000 };
}
