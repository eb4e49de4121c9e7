export * from './apply.ts';
export * from './custom-schema.ts';
export * from './deep.ts';
export { refuseTooManyValues } from './document-size.ts';
export * from './exact-json.ts';
export * from './field-errors.ts';
export * from './field-selectors.ts';
export {
  type FieldPath,
  fieldElement,
  formatPath,
  keyElement,
  type PathElement,
  valueElement,
} from './fieldpath/element.ts';
export * from './fieldpath/field-set.ts';
export * from './fieldpath/fields-v1.ts';
export { printGo } from './go-types.ts';
export { nearestKept } from './int64.ts';
export * from './json.ts';
export * from './json-decode.ts';
export { JsonMould } from './json-mould.ts';
export * from './json-patch.ts';
export * from './json-scan.ts';
export * from './limits.ts';
export * from './managed-fields/entries.ts';
export { LAST_APPLIED_ANNOTATION } from './managed-fields/last-applied.ts';
export { fieldsOfMember, type KnownFields } from './managed-fields/new-object.ts';
export { fieldsText } from './managed-fields/shared-fields.ts';
export { trackUpdate, type UpdateToTrack, type WriterIdentity } from './managed-fields/track.ts';
export * from './merge-patch.ts';
export * from './name-rules.ts';
export * from './quantity.ts';
export * from './schema.ts';
export * from './schema-decode.ts';
export * from './selector-parse.ts';
export * from './selectors.ts';
export { shareParts } from './share-parts.ts';
export * from './status.ts';
export * from './steps.ts';
export * from './strategic-merge.ts';
export * from './table.ts';
export * from './typed/unset.ts';
