import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { digestLine } from './digest.ts';
import { GRPC_INTERFACES, PLUGIN } from './interfaces.ts';

/**
 * Writes the messages of the gRPC interfaces (container runtimes, storage, registration of plugins) as JavaScript with
 * type declarations: Node runs no enums from TypeScript. Needs `protoc` (Debian: protobuf-compiler).
 *
 *     node tools/gen-cri/main.ts
 */
for (const { proto, out, files } of GRPC_INTERFACES) {
  const plugin = [`--plugin=protoc-gen-es=${PLUGIN}`, `--es_out=${out}`, '--es_opt=target=js+dts'];
  execFileSync('protoc', [`-I${path.dirname(proto)}`, ...plugin, proto], { stdio: 'inherit' });
  for (const file of files)
    writeFileSync(file, `${digestLine(proto, readFileSync(proto))}\n${readFileSync(file, 'utf8')}`);
}
