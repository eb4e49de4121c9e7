import {
  type BootstrapFlowSchema,
  type BootstrapPriorityLevel,
  CATCH_ALL_FLOW_SCHEMA,
  CATCH_ALL_PRIORITY_LEVEL,
  EXEMPT_FLOW_SCHEMA,
  EXEMPT_PRIORITY_LEVEL,
  FLOW_SCHEMAS,
  type FlowSchema,
  PRIORITY_LEVEL_CONFIGURATIONS,
  type PriorityLevelConfiguration,
} from '@holdfast/api';
import { FENCER } from '../authentication/identity.ts';

/** The objects that flow control uses: valid stored ones and mandatory ones. */
export interface FlowConfiguration {
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevelConfiguration[];
}

/** A schema whose level is missing matches nothing; a mandatory object that is missing is supplied. */
export function completed({ schemas, levels }: FlowConfiguration): FlowConfiguration {
  const allLevels = [...levels, ...missing(levels, MANDATORY_LEVELS)];
  const known = new Set(allLevels.map(({ metadata }) => metadata.name));
  const usable = schemas.filter(({ spec }) => known.has(spec.priorityLevelConfiguration.name));
  return { levels: allLevels, schemas: [OWN_SCHEMA, ...usable, ...missing(usable, MANDATORY_SCHEMAS)] };
}

function missing<T extends FlowSchema | PriorityLevelConfiguration>(
  present: readonly T[],
  mandatory: readonly T[],
): readonly T[] {
  const names = new Set(present.map(({ metadata }) => metadata.name));
  return mandatory.filter(({ metadata }) => !names.has(metadata.name));
}

const asSchema = ({ name, spec }: BootstrapFlowSchema): FlowSchema => ({
  apiVersion: `${FLOW_SCHEMAS.group}/${FLOW_SCHEMAS.version}`,
  kind: 'FlowSchema',
  metadata: { name },
  spec,
  status: {},
});

const asLevel = ({ name, spec }: BootstrapPriorityLevel): PriorityLevelConfiguration => ({
  apiVersion: `${PRIORITY_LEVEL_CONFIGURATIONS.group}/${PRIORITY_LEVEL_CONFIGURATIONS.version}`,
  kind: 'PriorityLevelConfiguration',
  metadata: { name },
  spec,
  status: {},
});

const MANDATORY_SCHEMAS = [asSchema(EXEMPT_FLOW_SCHEMA), asSchema(CATCH_ALL_FLOW_SCHEMA)];
const MANDATORY_LEVELS = [asLevel(EXEMPT_PRIORITY_LEVEL), asLevel(CATCH_ALL_PRIORITY_LEVEL)];

/** The fencer is no part of Kubernetes, whose schemas know nothing of it: it would wait among all users. It is not stored, as clusters have the objects of Kubernetes. */
const OWN_SCHEMA: FlowSchema = asSchema({
  name: 'holdfast-fencer',
  isMandatory: true,
  spec: {
    priorityLevelConfiguration: { name: EXEMPT_PRIORITY_LEVEL.name },
    matchingPrecedence: 1,
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: FENCER } }],
        resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      },
    ],
  },
});
