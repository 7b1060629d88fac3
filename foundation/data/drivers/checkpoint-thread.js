import { createRequire } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

/*
 * The thread of checkpoints.ts: at each message it moves what is in the log of a SQLite file into the file, and
 * answers. In JavaScript, since Node strips no types below node_modules.
 */

/** In one pass is moved what was in the log when it began; a second is short, and mostly the last. */
const MAX_PASSES = 3;

const { file, library, busyMs } = workerData;
const Database = createRequire(import.meta.url)(library);
const database = new Database(file, { fileMustExist: true, timeout: busyMs });
database.pragma('synchronous = normal');

parentPort.on('message', (isOver) => {
  if (isOver) {
    database.close();
    parentPort.close();
    return;
  }
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const [{ busy, log, checkpointed }] = database.pragma('wal_checkpoint(passive)');
    if (busy !== 0 || log === checkpointed) break;
  }
  parentPort.postMessage('moved');
});
