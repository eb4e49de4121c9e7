import { type NodeAffinity, structSchema } from '@holdfast/api';
import { type FieldError, required } from '@holdfast/machinery';
import { field } from '@holdfast/machinery/schema-build';
import { invariant } from '@holdfast/platform';
import type { RawArgs } from '../../framework/definition.ts';
import { checkArgs, report, struct } from './decode-args.ts';

export interface NodeAffinityArgs {
  readonly addedAffinity?: NodeAffinity;
}

const SCHEMA = struct('NodeAffinityArgs', {
  addedAffinity: field(() => {
    const schema = structSchema('core.v1.NodeAffinity');
    invariant(schema !== undefined, 'node affinity has a field table');
    return schema;
  }),
});

export function decodeNodeAffinityArgs(raw: RawArgs | undefined): NodeAffinityArgs {
  const args = checkArgs(raw, SCHEMA) as NodeAffinityArgs;
  report(raw, mistakesOf(args));
  return args;
}

function mistakesOf({ addedAffinity }: NodeAffinityArgs): readonly FieldError[] {
  const needed = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (needed === undefined || (needed.nodeSelectorTerms ?? []).length > 0) return [];
  const path = 'addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  return [required(path, 'must have at least one node selector term')];
}
