import {
  FIELDS_V1,
  JSON_ANY,
  JSON_SCHEMA_OR_ARRAY,
  JSON_SCHEMA_OR_BOOL,
  JSON_SCHEMA_OR_STRINGS,
  RAW_EXTENSION,
} from './schema-names.ts';
import type { JsonSchema } from './schemas.ts';

/** Properties that the field tables lack, as `struct.field`: the server's meaning of a field, not its name. */

/** Fields of any content have types with names of their own. */
export const FREE_TYPES: Readonly<Record<string, string>> = {
  'apiextensions.v1.JSONSchemaProps.additionalItems': JSON_SCHEMA_OR_BOOL,
  'apiextensions.v1.JSONSchemaProps.additionalProperties': JSON_SCHEMA_OR_BOOL,
  'apiextensions.v1.JSONSchemaProps.default': JSON_ANY,
  'apiextensions.v1.JSONSchemaProps.dependencies': JSON_SCHEMA_OR_STRINGS,
  'apiextensions.v1.JSONSchemaProps.enum': JSON_ANY,
  'apiextensions.v1.JSONSchemaProps.example': JSON_ANY,
  'apiextensions.v1.JSONSchemaProps.items': JSON_SCHEMA_OR_ARRAY,
  'apps.v1.ControllerRevision.data': RAW_EXTENSION,
  'meta.v1.ManagedFieldsEntry.fieldsV1': FIELDS_V1,
  'meta.v1.WatchEvent.object': RAW_EXTENSION,
};

/** Shown by `kubectl explain` for fields of every object. */
export const DESCRIPTIONS: Readonly<Record<string, JsonSchema>> = {
  'meta.v1.ObjectMeta.annotations': {
    description: 'Annotations are what tools keep with an object; nobody selects by them',
  },
  'meta.v1.ObjectMeta.creationTimestamp': {
    description: 'CreationTimestamp is a timestamp of the moment in which the server made the object',
  },
  'meta.v1.ObjectMeta.deletionTimestamp': {
    description:
      'DeletionTimestamp is a timestamp that the server sets when somebody deletes an object that does not go at once',
  },
  'meta.v1.ObjectMeta.finalizers': { description: 'Finalizers keep a deleted object until they are all taken away' },
  'meta.v1.ObjectMeta.labels': { description: 'Labels are what selectors find objects by' },
  'meta.v1.ObjectMeta.name': { description: 'Name tells the object from others of its kind in its namespace' },
  'meta.v1.ObjectMeta.namespace': { description: 'Namespace is where the object is; empty for objects of the cluster' },
  'meta.v1.ObjectMeta.ownerReferences': {
    description: 'OwnerReferences name the objects without which this one is deleted',
  },
};

const ATOMIC = { 'x-kubernetes-list-type': 'atomic' };

/** Marked as lists although they are not. */
export const MARKED_AS_LISTS: Readonly<Record<string, JsonSchema>> = {
  'apiregistration.v1.APIServiceSpec.caBundle': ATOMIC,
  'certificates.v1.CertificateSigningRequestSpec.request': ATOMIC,
  'certificates.v1.CertificateSigningRequestStatus.certificate': ATOMIC,
  'meta.v1.Status.details': ATOMIC,
};

/** Lists without merge information: items of object lists, impersonation data, verbs. */
export const isUnmarkedList = (struct: string, field: string): boolean =>
  (struct.endsWith('List') && field === 'items') ||
  field === 'extra' ||
  `${struct}.${field}` === 'meta.v1.APIResource.verbs';

const union = (discriminator: string, fields: Readonly<Record<string, string>>): JsonSchema => ({
  'x-kubernetes-unions': [{ discriminator, 'fields-to-discriminateBy': fields }],
});

export const UNIONS: Readonly<Record<string, JsonSchema>> = {
  'core.v1.AppArmorProfile': union('type', { localhostProfile: 'LocalhostProfile' }),
  'core.v1.SeccompProfile': union('type', { localhostProfile: 'LocalhostProfile' }),
  'flowcontrol.v1.LimitResponse': union('type', { queuing: 'Queuing' }),
  'flowcontrol.v1.PriorityLevelConfigurationSpec': union('type', { exempt: 'Exempt', limited: 'Limited' }),
  'flowcontrol.v1.Subject': union('kind', { group: 'Group', serviceAccount: 'ServiceAccount', user: 'User' }),
};

/** Required, and yet pointers: they have no zero. */
export const WITHOUT_DEFAULT: ReadonlySet<string> = new Set([
  'admissionregistration.v1.MutatingWebhook.sideEffects',
  'admissionregistration.v1.ValidatingWebhook.sideEffects',
  'networking.v1.HTTPIngressPath.pathType',
]);

const RBD = { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' };
const SCALE_IO = { fsType: 'xfs', storageMode: 'ThinProvisioned' };
const UNNAMED = { name: '' };

/** By struct and field, where it is declared or the field is printed even without a value. */
export const DEFAULTS: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> = {
  'apps.v1.StatefulSetOrdinals': { start: 0 },
  'apps.v1.StatefulSetStatus': { availableReplicas: 0 },
  'core.v1.AzureDiskVolumeSource': { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
  'core.v1.ConfigMapEnvSource': UNNAMED,
  'core.v1.ConfigMapKeySelector': UNNAMED,
  'core.v1.ConfigMapProjection': UNNAMED,
  'core.v1.ConfigMapVolumeSource': UNNAMED,
  'core.v1.ContainerPort': { protocol: 'TCP' },
  'core.v1.Event': { reportingComponent: '', reportingInstance: '' },
  'core.v1.GRPCAction': { service: '' },
  'core.v1.ISCSIPersistentVolumeSource': { iscsiInterface: 'default' },
  'core.v1.ISCSIVolumeSource': { iscsiInterface: 'default' },
  'core.v1.LocalObjectReference': UNNAMED,
  'core.v1.NodeRuntimeHandler': UNNAMED,
  'core.v1.RBDPersistentVolumeSource': RBD,
  'core.v1.RBDVolumeSource': RBD,
  'core.v1.ScaleIOPersistentVolumeSource': SCALE_IO,
  'core.v1.ScaleIOVolumeSource': SCALE_IO,
  'core.v1.SecretEnvSource': UNNAMED,
  'core.v1.SecretKeySelector': UNNAMED,
  'core.v1.SecretProjection': UNNAMED,
  'core.v1.ServicePort': { protocol: 'TCP' },
  'flowcontrol.v1.FlowSchemaSpec': { matchingPrecedence: 0 },
  'flowcontrol.v1.QueuingConfiguration': { handSize: 0, queueLengthLimit: 0, queues: 0 },
};
