export { decodeProtobufObject, type ProtobufJson } from './decode.ts';
export {
  encodeContent,
  encodeObject,
  envelopeFor,
  inEnvelope,
  itemHead,
  lendContent,
  listEnvelope,
  type TypeOf,
  watchFrame,
} from './envelope.ts';
export { messageName } from './message-names.ts';
export { WireError } from './wire.ts';
