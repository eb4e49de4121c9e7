import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { digestLine } from './digest.ts';

/**
 * Writes the messages of the Container Runtime Interface as JavaScript with type declarations (Node runs no enums from TypeScript).
 * Needs `protoc` (Debian: protobuf-compiler).
 *
 *     node tools/gen-cri/main.ts
 */
const ROOT = path.resolve(import.meta.dirname, '../..');
const FOLDER = path.join(ROOT, 'services/kubelet/src/runtime/cri');
const PROTO = path.join(FOLDER, 'cri.proto');
const OUT = path.join(FOLDER, 'generated');
const PLUGIN = path.join(ROOT, 'services/kubelet/node_modules/.bin/protoc-gen-es');

execFileSync(
  'protoc',
  [`-I${FOLDER}`, `--plugin=protoc-gen-es=${PLUGIN}`, `--es_out=${OUT}`, '--es_opt=target=js+dts', PROTO],
  { stdio: 'inherit' },
);
for (const file of ['cri_pb.js', 'cri_pb.d.ts']) {
  const target = path.join(OUT, file);
  writeFileSync(target, `${digestLine(readFileSync(PROTO))}\n${readFileSync(target, 'utf8')}`);
}
