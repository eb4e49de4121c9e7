export { type KeyParts, namespacePrefix, objectKey, parseKey, resourcePrefix } from './keys.ts';
export { MAX_BATCH_OPERATIONS } from './limits.ts';
export {
  type Change,
  type ChangeKind,
  Compacted,
  type DurableStore,
  HALT_NEXT_STEP,
  type Lineage,
  type ListOptions,
  type ListPage,
  OutcomeUnknown,
  type Revision,
  type Store,
  type StoredObject,
  StoreHalted,
  type StoreKey,
  StoreUnavailable,
  type WriteOperation,
  type WriteResult,
} from './port.ts';
export { traceWrites } from './traced-store.ts';
