export { decodeProtobufObject, type ProtobufJson } from './decode.ts';
export { WireError } from './wire.ts';
