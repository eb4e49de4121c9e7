import { BOOTSTRAP_FLOW_SCHEMAS, BOOTSTRAP_PRIORITY_LEVELS } from '@holdfast/api';
import type { FlowConfiguration } from './configuration.ts';

/** The default objects of every cluster. */
export const BOOTSTRAP: FlowConfiguration = {
  schemas: BOOTSTRAP_FLOW_SCHEMAS.map(({ name, spec }) => ({
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'FlowSchema',
    metadata: { name },
    spec,
    status: {},
  })),
  levels: BOOTSTRAP_PRIORITY_LEVELS.map(({ name, spec }) => ({
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
    kind: 'PriorityLevelConfiguration',
    metadata: { name },
    spec,
    status: {},
  })),
};
