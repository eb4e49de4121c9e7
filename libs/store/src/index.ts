export {
  BACKUP_FORMAT,
  BackupDamaged,
  type BackupHead,
  BackupReader,
  backupLines,
  type StoreContent,
} from './backup.ts';
export { roomCautions } from './internal/room.ts';
export { type KeyParts, namespacePrefix, objectKey, parseKey, resourcePrefix } from './keys.ts';
export { ADOPTION_JUMP, MAX_BATCH_OPERATIONS } from './limits.ts';
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
  StoreFull,
  StoreHalted,
  type StoreKey,
  type StoreLimits,
  StoreUnavailable,
  type StoreUsage,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
  type WriteRoom,
  WriteTooLarge,
} from './port.ts';
export { inRoom } from './room-store.ts';
export {
  isSealed,
  type OpenedValue,
  SEALED_PREFIX,
  type SealedReader,
  type SealedView,
  type Sealer,
  type StoredValue,
  Unreadable,
  Unsealable,
} from './sealed-port.ts';
export { createSealedStore } from './sealed-store.ts';
export { traceWrites } from './traced-store.ts';
export { writingBy } from './writing-by.ts';
