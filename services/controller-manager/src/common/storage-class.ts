import type { PersistentVolume, PersistentVolumeClaim } from '@holdfast/api';

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';

/** The old annotation counts before the field. */
export const classOf = ({ metadata, spec }: PersistentVolume | PersistentVolumeClaim): string =>
  metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '';
