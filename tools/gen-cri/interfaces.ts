import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** A gRPC interface: its source, and the folder of the generated messages. */
export interface GrpcInterface {
  readonly proto: string;
  readonly out: string;
  /** The generated files. */
  readonly files: readonly string[];
}

const inFolder = (folder: string, name: string): GrpcInterface => ({
  proto: path.join(ROOT, folder, `${name}.proto`),
  out: path.join(ROOT, folder, 'generated'),
  files: ['js', 'd.ts'].map((extension) => path.join(ROOT, folder, 'generated', `${name}_pb.${extension}`)),
});

export const GRPC_INTERFACES: readonly GrpcInterface[] = [
  inFolder('services/kubelet/src/runtime/cri', 'cri'),
  inFolder('libs/client/src/csi', 'csi'),
  inFolder('libs/client/src/csi', 'registration'),
];

export const PLUGIN = path.join(ROOT, 'services/kubelet/node_modules/.bin/protoc-gen-es');
