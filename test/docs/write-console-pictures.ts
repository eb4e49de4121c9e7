import { writeConsolePictures } from './console-pictures.ts';

await writeConsolePictures();
