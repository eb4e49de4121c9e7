import type {
  FlowcontrolV1Subject,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
} from '../generated/types.ts';
import type { BootstrapObject } from './bootstrap-object.ts';

/** The FlowSchemas that every cluster has, as in Kubernetes 1.32. */
export type BootstrapFlowSchema = BootstrapObject<FlowSchemaSpec>;

const LEASES: ResourcePolicyRule = {
  verbs: ['get', 'create', 'update'],
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  namespaces: ['*'],
};

const EVERY_RESOURCE: ResourcePolicyRule = {
  verbs: ['*'],
  apiGroups: ['*'],
  resources: ['*'],
  clusterScope: true,
  namespaces: ['*'],
};

const EVERY_PATH: NonResourcePolicyRule = { verbs: ['*'], nonResourceURLs: ['*'] };

const group = (name: string): FlowcontrolV1Subject => ({ kind: 'Group', group: { name } });
const user = (name: string): FlowcontrolV1Subject => ({ kind: 'User', user: { name } });
const systemAccount = (name: string): FlowcontrolV1Subject => ({
  kind: 'ServiceAccount',
  serviceAccount: { name, namespace: 'kube-system' },
});

const CONTROLLER_MANAGER = user('system:kube-controller-manager');
const SCHEDULER = user('system:kube-scheduler');
const NODES = group('system:nodes');
const EVERYBODY = [group('system:unauthenticated'), group('system:authenticated')];

const all = (...subjects: FlowcontrolV1Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [EVERY_RESOURCE],
  nonResourceRules: [EVERY_PATH],
});

interface Row {
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly rule: PolicyRulesWithSubjects;
  readonly isMandatory?: true;
}

const schema = (name: string, { level, precedence, by, rule, isMandatory }: Row): BootstrapFlowSchema => ({
  name,
  isMandatory: isMandatory === true,
  spec: {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules: [rule],
  },
});

export const EXEMPT_FLOW_SCHEMA = schema('exempt', {
  level: 'exempt',
  precedence: 1,
  rule: all(group('system:masters')),
  isMandatory: true,
});

export const CATCH_ALL_FLOW_SCHEMA = schema('catch-all', {
  level: 'catch-all',
  precedence: 10_000,
  by: 'ByUser',
  rule: all(...EVERYBODY),
  isMandatory: true,
});

export const BOOTSTRAP_FLOW_SCHEMAS: readonly BootstrapFlowSchema[] = [
  EXEMPT_FLOW_SCHEMA,
  schema('probes', {
    level: 'exempt',
    precedence: 2,
    rule: {
      subjects: EVERYBODY,
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
    },
  }),
  schema('system-leader-election', {
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    rule: { subjects: [CONTROLLER_MANAGER, SCHEDULER, systemAccount('*')], resourceRules: [LEASES] },
  }),
  schema('endpoint-controller', {
    level: 'workload-high',
    precedence: 150,
    by: 'ByUser',
    rule: {
      subjects: [
        CONTROLLER_MANAGER,
        systemAccount('endpoint-controller'),
        systemAccount('endpointslicemirroring-controller'),
      ],
      resourceRules: [
        { verbs: ['get', 'create', 'update'], apiGroups: [''], resources: ['endpoints'], namespaces: ['*'] },
      ],
    },
  }),
  schema('workload-leader-election', {
    level: 'leader-election',
    precedence: 200,
    by: 'ByUser',
    rule: {
      subjects: [systemAccount('*')],
      resourceRules: [
        {
          verbs: ['get', 'create', 'update'],
          apiGroups: [''],
          resources: ['endpoints', 'configmaps'],
          namespaces: ['*'],
        },
        LEASES,
      ],
    },
  }),
  schema('system-node-high', {
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    rule: {
      subjects: [NODES],
      resourceRules: [
        {
          verbs: ['*'],
          apiGroups: [''],
          resources: ['nodes', 'nodes/status'],
          clusterScope: true,
          namespaces: ['*'],
        },
        { verbs: ['*'], apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] },
      ],
    },
  }),
  schema('system-nodes', { level: 'system', precedence: 500, by: 'ByUser', rule: all(NODES) }),
  schema('kube-controller-manager', {
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rule: all(CONTROLLER_MANAGER),
  }),
  schema('kube-scheduler', { level: 'workload-high', precedence: 800, by: 'ByNamespace', rule: all(SCHEDULER) }),
  schema('kube-system-service-accounts', {
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    rule: all(systemAccount('*')),
  }),
  schema('service-accounts', {
    level: 'workload-low',
    precedence: 9_000,
    by: 'ByUser',
    rule: all(group('system:serviceaccounts')),
  }),
  schema('global-default', { level: 'global-default', precedence: 9_900, by: 'ByUser', rule: all(...EVERYBODY) }),
  CATCH_ALL_FLOW_SCHEMA,
];
