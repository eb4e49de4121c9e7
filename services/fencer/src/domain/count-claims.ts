import { isNodeReady, type Node } from '@holdfast/api';
import type { FencerConfiguration } from '../configuration/configuration.ts';
import { claimOf } from './marks.ts';
import { isFencing } from './partition.ts';

export type ClaimVerdict = 'go' | 'wait' | 'give-way';

/**
 * Judges a stored, tentative claim of a rule by nodes that were read after it was stored. Of several fencers that
 * claimed at the same moment, the one whose claim was stored last sees all the others, so no more than `maxFenced` go.
 * Over the limit, the claims with the greater names give way, so not all of them do.
 */
export function judgeClaim(
  { maxFenced }: Pick<FencerConfiguration, 'maxFenced'>,
  { metadata: { name = '' } }: Node,
  nodes: readonly Node[],
): ClaimVerdict {
  const others = nodes.filter(({ metadata }) => metadata.name !== name);
  if (!others.some(isNodeReady)) return 'give-way';
  const fenced = others.filter(isFencing);
  if (fenced.length < maxFenced) return 'go';
  const ahead = fenced.filter((each) => claimOf(each)?.isTentative !== true || (each.metadata.name ?? '') < name);
  return ahead.length < maxFenced ? 'wait' : 'give-way';
}
