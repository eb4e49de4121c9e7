// `node scripts/lock-pnpm.mjs FOLDER`, then `npm ci` in FOLDER: the pinned pnpm is FOLDER/node_modules/.bin/pnpm. For images, which are built without the front door.
import { PNPM_PACKAGES, pinned, withoutHash, writeLock } from './pinned-packages.mjs';

const [folder] = process.argv.slice(2);
const unknown = withoutHash(PNPM_PACKAGES);
if (folder === undefined) fail('no folder is given', 'Use `node scripts/lock-pnpm.mjs FOLDER`.');
if (unknown !== undefined) {
  fail(
    `scripts/toolchain.json has no hash of ${unknown} ${pinned.pnpm}, so it is not brought from the registry`,
    'Add its hash there.',
  );
}
writeLock(folder, PNPM_PACKAGES);

function fail(what, nextStep) {
  process.stderr.write(`holdfast: ${what}\n  ${nextStep}\n`);
  process.exit(1);
}
