export { volumeKey, volumeProof } from './proof.ts';
export { VolumeConnection, VolumeRefusal, type VolumeTicket } from './volume-connection.ts';
