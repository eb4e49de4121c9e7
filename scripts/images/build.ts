// Makes sure that every image of docker-compose.yml is on this machine, with `holdfast:dev` of the sources as they are now.
// What a registry does not bring is built from Debian packages under the same name, so that the same compose file works on a
// machine that reaches no registry. The caller's Node becomes the Node of the image: run this with the pinned one.
import { dockerSucceeds } from './docker.ts';
import { buildHoldfastImage } from './holdfast-image.ts';
import { buildStandIn, kindOfImage, NODE_IMAGE, STAND_INS } from './stand-ins.ts';

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** `offline` does not try to pull anything. */
export function ensureImages(options: { readonly offline: boolean }): void {
  for (const standIn of STAND_INS) {
    const kind = kindOfImage(standIn);
    if (kind === 'official' || kind === 'stand-in') continue;
    if (kind === 'absent' && !options.offline && dockerSucceeds(['pull', '--quiet', standIn.image])) {
      say(`pulled ${standIn.image}`);
      continue;
    }
    say(`building a stand-in for ${standIn.image} from Debian packages`);
    buildStandIn(standIn);
  }
  say('building holdfast:dev');
  // A stand-in has what an official image gets from Debian.
  const isComplete = STAND_INS.some((each) => each.image === NODE_IMAGE && kindOfImage(each) === 'stand-in');
  buildHoldfastImage({ network: isComplete ? 'none' : 'default' });
}

if (import.meta.main) {
  try {
    ensureImages({ offline: process.argv.includes('--offline') });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  }
}
