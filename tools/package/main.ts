// `npm run package -- FOLDER`: writes @holdfast/cluster for consumers into FOLDER, ready for `npm pack` there. Plain JavaScript with types; the libraries
// of others come along, so that nothing else has to be installed.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { writePackage } from './write-package.ts';

const USAGE = 'usage: npm run package -- FOLDER   writes the npm package @holdfast/cluster into a new folder';

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || folder.startsWith('-') || more.length > 0) fail(USAGE);
const target = path.resolve(process.env['INIT_CWD'] ?? '.', folder);
if (existsSync(target)) fail(`${target} exists already. Name a folder that does not exist.`);
const { files, version } = await writePackage(target);
process.stdout.write(`@holdfast/cluster ${version}: ${files} modules in ${target}\nNext: npm pack ${target}\n`);

function fail(text: string): never {
  process.stderr.write(`${text}\n`);
  process.exit(2);
}
