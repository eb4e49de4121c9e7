import type { FieldSchema, ListSchema, MapSchema, Schema, StructSchema } from './schema.ts';
import { scalar } from './schema-build.ts';

export { scalar };

/** Small hand-written schemas with the relevant structures of Deployment, Pod and ConfigMap. Only tests use them. */
const field = (type: () => Schema, more: Omit<FieldSchema, 'type'> = {}): FieldSchema => ({ type, ...more });

const struct = (name: string, fields: () => StructSchema['fields'], atomic = false): (() => StructSchema) => {
  let made: StructSchema | undefined;
  return () => {
    made ??= { kind: 'struct', name, fields: fields(), ...(atomic ? { atomic } : {}) };
    return made;
  };
};

const STRING: Schema = { kind: 'scalar', scalar: 'string' };
const QUANTITY: Schema = { kind: 'scalar', scalar: 'quantity' };
const mapOf = (values: Schema, atomic = false): (() => MapSchema) => {
  const schema: MapSchema = { kind: 'map', values: () => values, ...(atomic ? { atomic } : {}) };
  return () => schema;
};
const listOf = (
  items: () => Schema,
  listType: ListSchema['listType'] = 'atomic',
  mapKeys?: string[],
): (() => Schema) => {
  const schema: ListSchema = { kind: 'list', items, listType, ...(mapKeys === undefined ? {} : { mapKeys }) };
  return () => schema;
};
const ANY: Schema = { kind: 'any' };

export const ownerReference = struct(
  'meta.v1.OwnerReference',
  () => ({
    apiVersion: scalar('string'),
    kind: scalar('string'),
    name: scalar('string'),
    uid: scalar('string'),
  }),
  true,
);

export const objectMeta = struct('meta.v1.ObjectMeta', () => ({
  name: scalar('string'),
  generateName: scalar('string'),
  namespace: scalar('string'),
  uid: scalar('string'),
  resourceVersion: scalar('string'),
  selfLink: scalar('string'),
  generation: scalar('int64'),
  creationTimestamp: scalar('time'),
  deletionTimestamp: scalar('time'),
  deletionGracePeriodSeconds: scalar('int64'),
  labels: field(mapOf(STRING)),
  annotations: field(mapOf(STRING)),
  finalizers: field(
    listOf(() => STRING, 'set'),
    { patchStrategy: ['merge'] },
  ),
  ownerReferences: field(listOf(ownerReference, 'map', ['uid']), { patchStrategy: ['merge'], patchMergeKey: 'uid' }),
  managedFields: field(listOf(() => ANY)),
}));

const labelSelector = struct('meta.v1.LabelSelector', () => ({ matchLabels: field(mapOf(STRING)) }), true);

const containerPort = struct('core.v1.ContainerPort', () => ({
  containerPort: scalar('int32'),
  name: scalar('string'),
  protocol: { ...scalar('string'), default: 'TCP' },
}));

const envVar = struct('core.v1.EnvVar', () => ({ name: scalar('string'), value: scalar('string') }));

const resources = struct('core.v1.ResourceRequirements', () => ({
  limits: field(mapOf(QUANTITY)),
  requests: field(mapOf(QUANTITY)),
}));

export const container = struct('core.v1.Container', () => ({
  name: scalar('string'),
  image: scalar('string'),
  imagePullPolicy: scalar('string'),
  terminationMessagePath: scalar('string'),
  terminationMessagePolicy: scalar('string'),
  args: field(listOf(() => STRING)),
  resources: field(resources),
  env: field(listOf(envVar, 'map', ['name']), { patchStrategy: ['merge'], patchMergeKey: 'name' }),
  ports: field(listOf(containerPort, 'map', ['containerPort', 'protocol']), {
    patchStrategy: ['merge'],
    patchMergeKey: 'containerPort',
  }),
}));

const podSpec = struct('core.v1.PodSpec', () => ({
  containers: field(listOf(container, 'map', ['name']), {
    patchStrategy: ['merge'],
    patchMergeKey: 'name',
    required: true,
  }),
  nodeName: scalar('string'),
  nodeSelector: field(mapOf(STRING, true)),
  restartPolicy: scalar('string'),
  dnsPolicy: scalar('string'),
  schedulerName: scalar('string'),
  terminationGracePeriodSeconds: scalar('int64'),
  securityContext: field(struct('core.v1.PodSecurityContext', () => ({ runAsUser: scalar('int64') }))),
}));

const podTemplate = struct('core.v1.PodTemplateSpec', () => ({ metadata: field(objectMeta), spec: field(podSpec) }));

const rollingUpdate = struct('apps.v1.RollingUpdateDeployment', () => ({
  maxSurge: scalar('intOrString'),
  maxUnavailable: scalar('intOrString'),
}));

const strategy = struct('apps.v1.DeploymentStrategy', () => ({
  type: scalar('string'),
  rollingUpdate: field(rollingUpdate),
}));

const deploymentSpec = struct('apps.v1.DeploymentSpec', () => ({
  replicas: scalar('int32'),
  paused: scalar('boolean'),
  selector: field(labelSelector),
  template: field(podTemplate),
  strategy: field(strategy, { patchStrategy: ['retainKeys'] }),
  minReadySeconds: scalar('int32'),
  revisionHistoryLimit: scalar('int32'),
  progressDeadlineSeconds: scalar('int32'),
}));

const condition = struct('apps.v1.DeploymentCondition', () => ({
  type: scalar('string'),
  status: scalar('string'),
  lastUpdateTime: scalar('time'),
}));

const deploymentStatus = struct('apps.v1.DeploymentStatus', () => ({
  replicas: scalar('int32'),
  conditions: field(listOf(condition, 'map', ['type']), { patchStrategy: ['merge'], patchMergeKey: 'type' }),
}));

const kindFields = (): StructSchema['fields'] => ({
  apiVersion: scalar('string'),
  kind: scalar('string'),
  metadata: field(objectMeta),
});

export const deployment = struct('apps.v1.Deployment', () => ({
  ...kindFields(),
  spec: field(deploymentSpec),
  status: field(deploymentStatus),
}));

export const pod = struct('core.v1.Pod', () => ({ ...kindFields(), spec: field(podSpec) }));

export const configMap = struct('core.v1.ConfigMap', () => ({
  ...kindFields(),
  data: field(mapOf(STRING)),
  binaryData: field(mapOf({ kind: 'scalar', scalar: 'bytes' })),
  immutable: scalar('boolean'),
}));
