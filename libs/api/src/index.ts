export { ageOf, humanDuration } from './columns/age.ts';
export * from './custom/index.ts';
export { DEFAULT_FEATURES, FEATURE_GATES_SETTING, type Features, readFeatures } from './features.ts';
export * from './flow-control/index.ts';
export { KINDS } from './generated/kinds.ts';
export type * from './generated/types.ts';
export type * from './kind-info.ts';
export { type DerValue, derValues } from './kinds/certificate-signing-request/der.ts';
export { requestDer } from './kinds/certificate-signing-request/pem-bytes.ts';
export * from './kinds/node/fence.ts';
export * from './kinds/node/incarnation.ts';
export { NO_NODE_INFO } from './kinds/node/node-info.ts';
export * from './kinds/node/promise.ts';
export {
  isAttachedForPod,
  isVolumeInUse,
  needsAttach,
  podOfVolumeInUse,
  volumeInUse,
} from './kinds/persistent-volume/attachment.ts';
export { FENCING_TOKEN_MAX, nextFencingToken } from './kinds/persistent-volume/fencing-token.ts';
export {
  isOnStorageServer,
  STORAGE_SERVER_ADDRESS,
  STORAGE_SERVER_CA,
  STORAGE_SERVER_KEY,
  type StorageServerVolume,
  storageServerOf,
} from './kinds/persistent-volume/storage-server.ts';
export { clusterIpErrors } from './kinds/service/cluster-ips.ts';
export * from './node-terms.ts';
export * from './quota/index.ts';
export * from './refs.ts';
export * from './registry.ts';
export type * from './resource.ts';
export * from './schema-table.ts';
export * from './semantics/index.ts';
export { accessReviewErrors } from './validation/access-reviews.ts';
export { commonMetadataErrors } from './validation/common-metadata.ts';
export { dns1035LabelErrors, dnsLabelErrors } from './validation/formats.ts';
export { type Cidr, canonicalIp, cidrContains, type Ip, isIpv6, parseCidr, parseIp } from './validation/ip.ts';
export { validateLabels } from './validation/labels.ts';
export {
  keepServerMetadata,
  validateAnnotations,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from './validation/object-meta.ts';
export { privilegedErrors } from './validation/pod/privileged.ts';
export { isExtendedResource } from './validation/resource-names.ts';
