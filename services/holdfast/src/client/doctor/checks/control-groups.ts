import { existsSync } from 'node:fs';
import type { Check } from '../check.ts';
import { type Judgement, ok, warning } from '../finding.ts';

export const CONTROL_GROUPS: Check = {
  name: 'control groups',
  look: () =>
    Promise.resolve(
      judgeControlGroups({
        unified: existsSync('/sys/fs/cgroup/cgroup.controllers'),
        beside: existsSync('/sys/fs/cgroup/unified/cgroup.controllers'),
      }),
    ),
};

export interface ControlGroupFacts {
  readonly unified: boolean;
  /** Version 2 is mounted beside version 1. */
  readonly beside: boolean;
}

export function judgeControlGroups({ unified, beside }: ControlGroupFacts): Judgement {
  if (unified) return ok('version 2');
  if (beside) return ok('version 2 beside version 1');
  return warning(
    'version 2 is not mounted: nodes of container runtimes cannot promise to end their pods when they are disconnected',
    'Boot with systemd.unified_cgroup_hierarchy=1, or use process nodes for StatefulSets.',
  );
}
