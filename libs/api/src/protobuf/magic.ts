/** First bytes of every Kubernetes object in protobuf. */
export const MAGIC = [0x6b, 0x38, 0x73, 0x00] as const;
