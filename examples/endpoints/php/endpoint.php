<?php
// An HTTP action of weir with PHP 8.0 or later, in one file.
//
//	WEIR_SECRET=whsec_... STORE=/var/lib/award php -S 127.0.0.1:9000 endpoint.php
//
// Put your own work into award, and more functions like it into ACTIONS. `php -S` is for trying out: it does one call
// after the other. Behind php-fpm the same file does many at a time.
declare(strict_types=1);

const ACTIONS = ['/award' => 'award']; // path of the action's URL => function
const MAX_BODY = 8 << 20; // bytes of a call
define('SECRET', (string) getenv('WEIR_SECRET')); // of the action in weir: whsec_ and base64
define('MAX_CALLS', (int) (getenv('MAX_CALLS') === false ? 8 : getenv('MAX_CALLS'))); // at a time; more get 429
define('STORE', (string) (getenv('STORE') ?: sys_get_temp_dir() . '/weir-endpoint')); // the directory of the results

// Does the work for one item. What it returns is kept, and returned again for the same key.
function award(string $id, mixed $data, bool $dryRun): array
{
    if (!$data instanceof stdClass) {
        return ['status' => 'failed', 'code' => 'bad_data', 'message' => 'data must be an object'];
    }
    if (($data->closed ?? null) === true) {
        return ['status' => 'failed', 'code' => 'closed', 'message' => 'the account is closed'];
    }
    if (($data->busy ?? null) === true) {
        return ['status' => 'retry', 'code' => 'busy', 'retry_after' => '30s'];
    }
    return ['status' => 'done', 'output' => ['reward_id' => $dryRun ? 'dry-run' : 'r-' . bin2hex(random_bytes(8))]];
}

// Returns the result of the work, or the earlier one of this key. A file per key: take your database, and do the
// work in one transaction with its result.
function once(string $key, bool $dryRun, callable $work): array
{
    $name = STORE . '/' . hash('sha256', $key);
    if ($dryRun) {
        return json_decode((string) @file_get_contents($name), true) ?? $work();
    }
    $file = fopen($name, 'c+') ?: throw new RuntimeException('the store cannot be written');
    try {
        flock($file, LOCK_EX) || throw new RuntimeException('the store cannot be locked');
        $result = json_decode((string) stream_get_contents($file), true); // null: new, or cut off when a call was killed
        if ($result === null) {
            $result = $work();
            if ($result['status'] !== 'retry') {
                $text = json_encode($result, JSON_THROW_ON_ERROR);
                ftruncate($file, 0) && rewind($file) && fwrite($file, $text) === strlen($text) && fflush($file)
                    || throw new RuntimeException('the store cannot be written');
            }
        }
        return $result;
    } finally {
        fclose($file);
    }
}

function verify(string $body): bool
{
    $key = base64_decode(preg_replace('/^whsec_/', '', SECRET));
    [$id, $at, $signed] = array_map(fn ($name) => (string) ($_SERVER["HTTP_WEBHOOK_$name"] ?? ''), ['ID', 'TIMESTAMP', 'SIGNATURE']);
    if (SECRET === '' || !preg_match('/^[0-9]{1,11}$/D', $at) || abs(time() - (int) $at) > 300) {
        return false; // missing, not a number, or more than five minutes away
    }
    $want = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$at.$body", $key, true));
    foreach (explode(' ', $signed) as $one) {
        if (hash_equals($want, $one)) {
            return true;
        }
    }
    return false;
}

// Returns a call, or throws a JsonException.
function parse(string $body): stdClass
{
    $call = json_decode($body, false, 256, JSON_THROW_ON_ERROR);
    $text = fn ($value) => is_string($value) && strlen($value) <= 4096;
    $items = $call instanceof stdClass ? ($call->items ?? null) : null;
    foreach (is_array($items) ? $items : [null] as $item) {
        if (!($item instanceof stdClass && $text($item->id ?? null) && $text($item->idempotency_key ?? null) && $item->idempotency_key !== '')
            && $items !== []) {
            throw new JsonException('items must be objects with id and idempotency_key');
        }
    }
    return $call;
}

// Returns the lock of a call, or null if as many as allowed are in work.
function slot(): mixed
{
    for ($n = 0; $n < MAX_CALLS; $n++) {
        $file = fopen(STORE . "/call-$n.lock", 'c');
        if ($file && flock($file, LOCK_EX | LOCK_NB)) {
            return $file;
        }
    }
    return null;
}

function serve(string $path): array
{
    $work = ACTIONS[$path] ?? null;
    $length = $_SERVER['CONTENT_LENGTH'] ?? $_SERVER['HTTP_CONTENT_LENGTH'] ?? '';
    if ($work === null) {
        return [404, ['error' => 'no action has this path']];
    }
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        header('Allow: POST');
        return [405, ['error' => 'use POST']];
    }
    if (!preg_match('/^[0-9]{1,15}$/D', $length)) {
        return [411, ['error' => 'Content-Length is required']];
    }
    if ((int) $length > MAX_BODY) {
        return [413, ['error' => 'the body is too large']];
    }
    $body = (string) file_get_contents('php://input', false, null, 0, MAX_BODY + 1);
    if (strlen($body) !== (int) $length) {
        return [400, ['error' => 'the body was cut off']];
    }
    if (!verify($body)) {
        return [401, ['error' => 'the signature is wrong, or too old']];
    }
    is_dir(STORE) || @mkdir(STORE, 0700, true);
    $slot = slot(); // until the end of this call
    if ($slot === null) {
        header('Retry-After: 1');
        return [429, ['error' => 'too many calls']];
    }
    try {
        $call = parse($body);
    } catch (JsonException $problem) {
        return [400, ['error' => $problem->getMessage()]];
    }
    $dryRun = ($call->dry_run ?? null) === true;
    $results = [];
    foreach ($call->items as $item) {
        $do = fn () => $work($item->id, $item->data ?? null, $dryRun);
        $results[] = ['id' => $item->id] + once("$path $item->idempotency_key", $dryRun, $do);
    }
    return [200, ['results' => $results]];
}

try {
    [$status, $value] = serve(explode('?', $_SERVER['REQUEST_URI'])[0]);
} catch (Throwable $problem) {
    error_log((string) $problem);
    [$status, $value] = [500, ['error' => 'the work failed']]; // weir sends the items again
}
http_response_code($status);
header('Content-Type: application/json');
echo json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
